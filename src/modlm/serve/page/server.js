// Talking to the server: JSON requests, streams of events, the token, and noticing when the server is gone and back.

const RETRIES = 4;
const BUSY = new Set([429, 503]);
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

/** What the server refused, in its own words. */
export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    Object.assign(this, { name: "Refused", status, code });
  }
}

/** The server did not answer at all. */
export class Gone extends Error {
  constructor() {
    super("The server does not answer. This page goes on by itself when it is back.");
    this.name = "Gone";
  }
}

export class Server extends EventTarget {
  /** What is sent of a question: the page adds the source that its model reads. */
  complete = (body) => body;
  #token = sessionStorage.getItem("modlm-token") ?? "";
  #gone = false;

  set token(value) {
    this.#token = value;
    sessionStorage.setItem("modlm-token", value);
  }

  get(path, options) {
    return this.#json("GET", path, undefined, options);
  }

  post(path, body, options) {
    return this.#json("POST", path, body, options);
  }

  /** The events of a stream, one object after the other; leaving the loop or the signal closes the connection. */
  async *events(path, body, { signal } = {}) {
    const answer = await this.#fetch("POST", path, body, signal);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        const pieces = (rest + value.replaceAll("\r\n", "\n")).split("\n\n");
        rest = pieces.pop();
        for (const piece of pieces) {
          const data = piece.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n");
          if (data.trim()) yield JSON.parse(data);
        }
      }
    } finally {
      reader.cancel().catch(() => {});
    }
  }

  async #json(method, path, body, { signal } = {}) {
    return (await this.#fetch(method, path, body, signal)).json();
  }

  async #fetch(method, path, body, signal) {
    for (let tries = 1; ; tries += 1) {
      const answer = await this.#once(method, path, body, signal);
      if (answer.ok) return answer;
      if (BUSY.has(answer.status) && tries < RETRIES) {
        await wait(Math.min(2000, 1000 * Number(answer.headers.get("retry-after") || 0.15 * 2 ** tries)));
        signal?.throwIfAborted();
        continue;
      }
      const refused = await refusal(answer);
      if (answer.status === 401) this.dispatchEvent(new Event("unauthorized"));
      throw refused;
    }
  }

  async #once(method, path, body, signal) {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    if (this.#token) headers.authorization = `Bearer ${this.#token}`;
    try {
      const answer = await fetch(path, { method, headers, body: body && JSON.stringify(this.complete(body)), signal, cache: "no-store" });
      this.#seen();
      return answer;
    } catch (error) {
      if (error.name === "AbortError") throw error;
      this.#lost();
      throw new Gone();
    }
  }

  #seen() {
    if (!this.#gone) return;
    this.#gone = false;
    this.dispatchEvent(new Event("back"));
  }

  async #lost() {
    if (this.#gone) return;
    this.#gone = true;
    this.dispatchEvent(new Event("gone"));
    for (let pause = 500; this.#gone; pause = Math.min(5000, pause * 1.5)) {
      await wait(pause);
      await fetch("health", { cache: "no-store" }).then((answer) => answer.ok && this.#seen(), () => {});
    }
  }
}

async function refusal(answer) {
  try {
    const { error } = await answer.json();
    return new Refused(answer.status, error.code, error.message);
  } catch {
    return new Refused(answer.status, "unexpected", `The server answered ${answer.status} ${answer.statusText} and gave no reason.`);
  }
}
