// Training runs: perplexity and dense mass as their journals grow, several runs in one picture.

import { Chart } from "./chart.js";
import { h, problem, svg } from "./dom.js";
import { decimals, integer, share, short } from "./format.js";

const EVERY = 3000; // ms between questions while a run is going on
const PARTS = [["train", "Training"], ["valid", "Validation"], ["test", "Test"]];
const COLOURS = 6;

export class RunsView {
  #app;
  #journals = new Map(); // by name: lines, finished
  #timer = 0;
  #list = h("div", { class: "run-list scroller" });
  #trouble = h("div");
  #perplexity = new Chart("Perplexity", { height: 330 });
  #dense = new Chart("Dense mass", { height: 210, format: share });
  #controls = h("div", { class: "run-controls" });

  constructor(app) {
    this.#app = app;
    const chart = (title, hint, { element }) =>
      h("section", { class: "card", "aria-label": title }, h("div", { class: "card-head" }, h("h2", {}, title), h("p", { class: "soft" }, hint)), h("div", { class: "card-body" }, element));
    this.parts = [
      h("section", { class: "card", "aria-label": "Runs" }, h("div", { class: "card-head" }, h("h2", {}, "Training runs"), this.#controls), h("div", { class: "card-body stack" }, this.#trouble, this.#list)),
      chart("Perplexity", "lower is better", this.#perplexity),
      chart("Dense mass", "weight that the net puts on columns of counts; the rest goes to single words", this.#dense),
    ];
  }

  get chosen() {
    const names = this.#app.runs.map(({ name }) => name);
    const wanted = this.#app.values.runs.filter((name) => names.includes(name));
    return wanted.length || this.#app.values.runs[0] === "-" ? wanted : names.slice(0, 3);
  }

  enter() {
    if (!this.#app.runs.length) {
      this.#app.wide.replaceChildren(this.#none());
      return;
    }
    this.#app.wide.replaceChildren(...this.parts);
    this.#control();
    this.#show();
    this.#poll();
  }

  leave() {
    clearTimeout(this.#timer);
  }

  update(what) {
    if (what === "model" && this.#app.runs.length) this.#poll();
  }

  #none() {
    return h(
      "section",
      { class: "card" },
      h("div", { class: "card-head" }, h("h2", {}, "No training run is being watched")),
      h("div", { class: "card-body stack" }, h("p", {}, "Give the server the folder of a run, finished or still running, and its curves appear here and grow:"), h("pre", {}, h("code", {}, "modlm train config.toml -o runs/mine &\nmodlm serve model/ --run runs/mine"))),
    );
  }

  #control() {
    const { values } = this.#app;
    const pick = (name, choices) =>
      h(
        "div",
        { class: "segmented", role: "group", "aria-label": name },
        choices.map(([value, label]) =>
          h("button", { type: "button", "aria-pressed": String(values[name] === value), on: { click: () => this.#set({ [name]: value }) } }, label),
        ),
      );
    const part = ([value, label]) =>
      h("button", { type: "button", "aria-pressed": String(values.series.includes(value)), on: { click: () => this.#set({ series: flipped(values.series, value) }) } }, keyLine(`p-${value}`), label);
    this.#controls.replaceChildren(
      h("div", { class: "segmented", role: "group", "aria-label": "Parts" }, PARTS.map(part)),
      pick("x", [["words", "Words"], ["epoch", "Epochs"]]),
      pick("y", [["log", "Log"], ["linear", "Linear"]]),
    );
  }

  #set(changes) {
    const label = document.activeElement?.textContent;
    this.#app.state.set(changes);
    this.#control();
    this.#show();
    [...this.#controls.querySelectorAll("button")].find((own) => own.textContent === label)?.focus();
  }

  async #poll() {
    clearTimeout(this.#timer);
    const names = this.#app.runs.map(({ name }) => name).filter((name) => !this.#journals.get(name)?.finished);
    try {
      const answers = await Promise.all(names.map((name) => this.#more(name)));
      this.#trouble.replaceChildren();
      if (answers.some(Boolean)) this.#show();
    } catch (error) {
      this.#trouble.replaceChildren(problem(error) ?? "");
    }
    const going = this.#app.runs.some(({ name }) => !this.#journals.get(name)?.finished);
    if (going && this.#app.values.view === "runs") this.#timer = setTimeout(() => this.#poll(), EVERY);
  }

  /** Asks for the lines that are new; whether there are any. */
  async #more(name) {
    const known = this.#journals.get(name) ?? { lines: [], finished: false, fresh: true };
    const answer = await this.#app.server.get(`runs/${encodeURIComponent(name)}?after=${known.lines.length}`);
    const growing = !answer.finished && !known.fresh && (known.growing || answer.lines.length > 0);
    const kept = known.lines.slice(0, answer.after); // fewer than are known where the run was set back to a checkpoint
    this.#journals.set(name, { lines: [...kept, ...answer.lines], finished: answer.finished, growing });
    return answer.lines.length > 0 || kept.length < known.lines.length || answer.finished !== known.finished || known.fresh;
  }

  #show() {
    const { values } = this.#app;
    const all = this.#app.runs.map(({ name }) => name);
    const several = this.chosen.length > 1 || values.series.length > 1;
    const series = (quantity) =>
      this.chosen.flatMap((name) =>
        PARTS.filter(([part]) => values.series.includes(part)).map(([part, label]) => ({
          name: several ? `${name} · ${label.toLowerCase()}` : label,
          class: `r-${all.indexOf(name) % COLOURS} p-${part}`,
          points: (this.#journals.get(name)?.lines ?? []).map((line) => [line[values.x], line[`${part}_${quantity}`]]).filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y)),
        })),
      );
    const axis = values.x === "words" ? { xLabel: "words read", xFormat: short } : { xLabel: "epochs", xFormat: (value) => String(Number(value.toFixed(2))) };
    this.#perplexity.set(series("perplexity"), { ...axis, log: values.y === "log" });
    this.#dense.set(series("dense_mass"), { ...axis, range: [0, 1], percent: true });
    this.#rows(all);
  }

  #rows(all) {
    const chosen = this.chosen;
    const focused = document.activeElement?.dataset?.run;
    const rows = all.map((name, at) => {
      const { lines = [], finished, growing } = this.#journals.get(name) ?? {};
      const last = lines.at(-1) ?? {};
      const best = lines.reduce((least, line) => (line.valid_perplexity < (least?.valid_perplexity ?? Infinity) ? line : least), null);
      const toggle = () => {
        const names = flipped(chosen, name);
        this.#app.state.set({ runs: names.length ? names : ["-"] });
        this.#show();
      };
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, h("label", { class: "run-name" }, h("input", { type: "checkbox", data: { run: name }, checked: chosen.includes(name), on: { change: toggle } }), keyLine(`r-${at % COLOURS}`), h("span", { title: name }, name))),
        h("td", {}, h("span", { class: `state ${growing ? "going" : ""}` }, finished ? "finished" : growing ? "growing" : lines.length ? "not finished" : "no line yet")),
        [decimals(best?.valid_perplexity), decimals(last.valid_perplexity), decimals(last.test_perplexity), last.valid_dense_mass === undefined ? "–" : share(last.valid_dense_mass), last.epoch === undefined ? "–" : decimals(last.epoch), integer(lines.length)].map((cell) => h("td", { class: "number" }, cell)),
      );
    });
    const head = ["Run", "State", "Best valid", "Valid", "Test", "Dense mass", "Epochs", "Evaluations"].map((name, at) => h("th", { scope: "col", class: at > 1 ? "number" : null }, name));
    this.#list.replaceChildren(h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)));
    if (focused) this.#list.querySelector(`[data-run="${CSS.escape(focused)}"]`)?.focus();
  }
}

const flipped = (names, name) => (names.includes(name) ? names.filter((own) => own !== name) : [...names, name]);
const keyLine = (name) => svg("svg", { class: "key", viewBox: "0 0 24 10", "aria-hidden": "true" }, svg("path", { class: `curve ${name}`, d: "M1 5H23" }));
