// Starts the page: asks what is loaded, reads the address, and connects the header, the editor's buttons and the keys.

import { App } from "./app.js";
import { byId, h, icon } from "./dom.js";
import { connectKeys } from "./keys.js";
import { VIEWS } from "./state.js";
import { tidied } from "./tidy.js";
import { AlignView } from "./view-align.js";
import { CompareView } from "./view-compare.js";
import { NextView } from "./view-next.js";
import { RunsView } from "./view-runs.js";
import { ScoreView } from "./view-score.js";
import { WhyView } from "./view-why.js";

const app = new App();

async function start() {
  connectConnection();
  await takeAddress();
  await load();
  connectHeader();
  connectEditor();
  connectKeys(app);
  app.editor.replace(app.values.text, { caret: Math.min(app.values.at, app.values.text.length), undoable: false });
  app.start({ score: ScoreView, next: NextView, compare: CompareView, why: WhyView, runs: RunsView, align: AlignView });
  window.addEventListener("hashchange", async () => {
    await takeAddress();
    sound();
    app.scores.forget();
    app.editor.replace(app.values.text, { caret: Math.min(app.values.at, app.values.text.length), undoable: false });
    byId("model").value = app.model;
    app.open();
  });
  document.documentElement.dataset.ready = "";
}

async function takeAddress() {
  const { token } = await app.state.read();
  if (!token) return;
  app.server.token = token;
  history.replaceState(null, "", location.pathname + location.search);
}

/** Asks what is loaded until the server says it. */
async function load() {
  for (;;) {
    try {
      const { models, runs, limits } = await app.server.get("models");
      Object.assign(app, { models, runs });
      app.scores.limits = limits ?? {};
      break;
    } catch (error) {
      if (error.status !== 401 && error.name !== "Gone") showBanner(error.message);
      await new Promise((back) => {
        app.server.addEventListener("back", back, { once: true });
        byId("token").addEventListener("close", back, { once: true });
        if (error.name === "Refused" && error.status !== 401) setTimeout(back, 3000);
      });
    }
  }
  byId("banner").hidden = true;
  document.querySelector('[data-goto="align"]').hidden = !app.models.some(({ source }) => source);
  byId("model").replaceChildren(...app.models.map(({ name }) => h("option", { value: name }, name)));
  sound();
  byId("model").value = app.model;
}

/** A link may name models that this server does not have. */
function sound() {
  const names = app.models.map(({ name }) => name);
  const wanted = app.values.model;
  if (!names.includes(wanted)) app.values.model = names[0] ?? "";
  if (wanted && !names.includes(wanted)) app.toast(`This server has no model “${wanted}”; showing “${app.model}”.`);
  app.values.models = app.values.models.filter((name) => names.includes(name));
}

function showBanner(message) {
  byId("banner").textContent = message;
  byId("banner").hidden = false;
}

function connectConnection() {
  app.server.addEventListener("gone", () => showBanner("The server does not answer. Trying again until it is back …"));
  app.server.addEventListener("back", () => {
    byId("banner").hidden = true;
    if (!("ready" in document.documentElement.dataset)) return;
    app.toast("The server is back.");
    app.scores.retry();
    app.refresh();
  });
  app.server.addEventListener("unauthorized", () => byId("token").open || byId("token").showModal());
  byId("token").addEventListener("close", () => {
    app.server.token = byId("token-value").value;
    if ("ready" in document.documentElement.dataset) app.refresh();
  });
}

function connectHeader() {
  for (const view of VIEWS) {
    document.querySelector(`[data-goto="${view}"]`).addEventListener("click", () => app.state.set({ view }));
  }
  byId("model").addEventListener("change", ({ target }) => app.state.set({ model: target.value }));
  app.state.addEventListener("change", () => (byId("model").value = app.model));
  byId("copy-link").addEventListener("click", copyLink);
  byId("help-button").addEventListener("click", () => byId("help").showModal());
  byId("help").addEventListener("click", ({ target }) => target === byId("help") && byId("help").close());
  byId("theme").addEventListener("click", () => setTheme({ auto: "light", light: "dark", dark: "auto" }[theme()]));
  setTheme(theme());
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    (byId("source-input") ?? app.editor.input).focus();
  });
}

async function copyLink() {
  const link = await app.state.link();
  history.replaceState(null, "", link);
  try {
    await navigator.clipboard.writeText(link);
    app.toast(link.length > 8000 ? "Link copied. It is long: some programs may cut it." : "Link copied.");
  } catch {
    app.toast("The link is in the address bar; this browser does not let pages copy.");
  }
}

const theme = () => document.documentElement.dataset.theme ?? "auto";

function setTheme(chosen) {
  const names = { auto: "as the system", light: "light", dark: "dark" };
  if (chosen === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  byId("theme").replaceChildren(icon({ auto: "auto", light: "sun", dark: "moon" }[chosen]));
  byId("theme").title = `Theme: ${names[chosen]}`;
  byId("theme").setAttribute("aria-label", `Theme: ${names[chosen]}`);
  try {
    localStorage.setItem("modlm-theme", chosen);
  } catch {
    // Not kept, then.
  }
}

function connectEditor() {
  byId("clear").addEventListener("click", () => {
    app.editor.replace("");
    app.editor.input.focus();
  });
  byId("undo").addEventListener("click", () => app.editor.undo());
  byId("numbers").addEventListener("change", ({ target }) => app.state.set({ numbers: target.checked }));
  byId("tidy").addEventListener("click", async () => {
    const text = await tidied(app.server, app.model, app.editor.text);
    if (text === app.editor.text) app.toast("Nothing to tidy.");
    else app.editor.replace(text, { caret: 0 });
  });
}

start();
