// What the page shows, as one record that also stands in the address after #, so that a link reproduces the view.

import { debounced } from "./dom.js";

export const VIEWS = ["score", "next", "compare", "why", "runs", "align"];
const LONG = 1200; // characters from which a text is packed

const DEFAULTS = {
  view: "score", model: "", text: "", at: 0, numbers: false,
  models: [], against: "", source: "", beam: 5,
  temperature: 1, top_k: 0, top_p: 1, max_words: 30, seed: "",
  runs: [], x: "words", y: "log", series: ["valid"],
};

export class State extends EventTarget {
  values = { ...DEFAULTS };
  #write = debounced(() => this.#toAddress(), 300);

  /** Takes what the address says; also a token, which does not stay there. */
  async read() {
    const given = new URLSearchParams(location.hash.slice(1));
    const values = { ...DEFAULTS };
    for (const [name, standard] of Object.entries(DEFAULTS)) {
      const value = given.get(name);
      if (value === null) continue;
      if (Array.isArray(standard)) values[name] = value ? value.split(",").map(decoded) : [];
      else if (typeof standard === "boolean") values[name] = value === "1";
      else if (typeof standard === "number") values[name] = Number.isFinite(Number(value)) ? Number(value) : standard;
      else values[name] = value;
    }
    if (given.has("packed")) values.text = await unpacked(given.get("packed")).catch(() => "");
    if (!VIEWS.includes(values.view)) values.view = DEFAULTS.view;
    this.values = values;
    return { token: given.get("token"), shared: values.text !== "" };
  }

  /** Changes values, tells what changed, and has the address follow. */
  set(changes) {
    const changed = Object.keys(changes).filter((name) => String(this.values[name]) !== String(changes[name]));
    if (!changed.length) return;
    Object.assign(this.values, changes);
    this.#write();
    this.dispatchEvent(new CustomEvent("change", { detail: new Set(changed) }));
  }

  /** The address of this view. */
  async link() {
    const own = new URLSearchParams();
    for (const [name, standard] of Object.entries(DEFAULTS)) {
      const value = this.values[name];
      if (String(value) === String(standard) || (name === "at" && !this.values.text)) continue;
      if (name === "text" && value.length > LONG) own.set("packed", await packed(value));
      else if (Array.isArray(value)) own.set(name, value.map(encodeURIComponent).join(","));
      else own.set(name, typeof value === "boolean" ? "1" : value);
    }
    const url = new URL(location.href);
    url.hash = own.toString();
    return url.href;
  }

  async #toAddress() {
    const link = await this.link();
    if (link !== location.href) history.replaceState(null, "", link);
  }
}

function decoded(value) {
  try {
    return decodeURIComponent(value);
  } catch {
    return value; // cut off in the middle of a letter
  }
}

async function packed(text) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text));
  let letters = "";
  for (let at = 0; at < bytes.length; at += 8192) letters += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(letters) {
  const bytes = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  return new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes));
}

async function through(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}
