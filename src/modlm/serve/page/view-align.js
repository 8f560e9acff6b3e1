// Translations of a source sentence, and where their words come from: λ between words as a picture, and a bar of blocks.

import { bar, describe, spoken, swatch } from "./columns.js";
import { Latest, byId, h, problem } from "./dom.js";
import { END, nameOf, percent, quoted, share, signed } from "./format.js";

const BEAMS = [1, 5, 10, 20];
const BEST = 5; // translations that are asked for at most
const LEVEL = 4; // letters up to which the source words stand level above their columns; Chinese and Japanese ones are two
const HOW = "modlm train --text train.en --source train.ja --valid dev.en --valid-source dev.ja -o runs/ja-en\nmodlm serve runs/ja-en";

export class AlignView {
  #app;
  #latest = new Latest();
  #asked = "";
  #input = h("textarea", { id: "source-input", rows: 3, "aria-labelledby": "source-title", "aria-describedby": "source-hint", spellcheck: "false", autocapitalize: "off", placeholder: "Type or paste a sentence to translate …" });
  #beam = h("select", {}, BEAMS.map((size) => h("option", { value: size }, size)));
  #list = h("ol", { class: "translations", "aria-label": "Translations, the best first" });
  #trouble = h("div");
  #answers = h("section", { class: "card", "aria-labelledby": "translations-title", "aria-live": "polite" }, h("div", { class: "card-head" }, h("h2", { id: "translations-title" }, "Translations"), h("p", { class: "soft" }, "by beam search, with their scores")), h("div", { class: "card-body stack" }, this.#trouble, this.#list));
  #picture = h("section", { class: "card", "aria-labelledby": "align-title" });
  #parts = [h("div", { class: "two" }, this.#form(), this.#answers), this.#picture];

  constructor(app) {
    this.#app = app;
  }

  enter() {
    this.#asked = "";
  }

  leave() {
    this.#latest.stop();
    byId("tip").hidden = true;
  }

  update(what) {
    if (what !== "model") return;
    const { models, model, values, wide } = this.#app;
    if (!this.#app.about(model)?.source) {
      this.#asked = "";
      wide.replaceChildren(none(model, models.filter(({ source }) => source), this.#app.state));
      return;
    }
    if (!this.#input.isConnected) {
      this.#input.value = values.source;
      wide.replaceChildren(...this.#parts);
    }
    this.#beam.value = BEAMS.includes(values.beam) ? values.beam : BEST;
    this.#ask();
  }

  #form() {
    const send = (event) => {
      event.preventDefault();
      this.#asked = "";
      this.#app.state.set({ source: this.#input.value.trim().replace(/\s+/g, " "), beam: Number(this.#beam.value) });
      this.#ask();
    };
    this.#input.addEventListener("keydown", (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && send(event));
    return h(
      "section",
      { class: "card", "aria-labelledby": "source-title" },
      h("div", { class: "card-head" }, h("h2", { id: "source-title" }, "Source"), h("p", { class: "soft", id: "source-hint" }, "One sentence, words separated as in the training text.")),
      h("form", { class: "card-body stack source-form", on: { submit: send } }, h("label", {}, this.#input), h("div", { class: "row" }, h("button", { class: "primary" }, "Translate"), h("label", { class: "row soft" }, "Beam", this.#beam))),
    );
  }

  async #ask() {
    const { model, values, server } = this.#app;
    const beam = Number(this.#beam.value);
    const asked = `${model}\n${values.source}\n${beam}`;
    if (asked === this.#asked) return;
    this.#asked = asked;
    const signal = this.#latest.begin();
    this.#answers.hidden = this.#picture.hidden = !values.source;
    if (!values.source) return;
    this.#parts.forEach((part) => part.classList.add("stale"));
    try {
      const body = { model, source: values.source, beam, n_best: Math.min(BEST, beam) };
      const { sentences } = await server.post("translate", body, { signal });
      this.#trouble.replaceChildren();
      this.#show(sentences[0], 0);
    } catch (error) {
      const message = problem(error);
      if (!message) return;
      this.#asked = "";
      this.#trouble.replaceChildren(message);
      this.#list.replaceChildren();
      this.#picture.hidden = true;
    }
    this.#parts.forEach((part) => part.classList.remove("stale"));
  }

  /** All translations in the list, one of them in the picture. */
  #show(sentence, chosen) {
    const focused = this.#list.contains(document.activeElement);
    const row = ({ text, score }, at) => h("li", {}, h("button", { type: "button", "aria-pressed": String(at === chosen), on: { click: () => this.#show(sentence, at) } }, h("span", {}, text || h("em", {}, "nothing")), h("span", { class: "number soft" }, signed(score))));
    this.#list.replaceChildren(...sentence.translations.map(row));
    if (focused) this.#list.children[chosen].firstChild.focus();
    const { text, words } = sentence.translations[chosen];
    const columns = describe(Object.keys(words[0].blocks));
    const means = columns.map(({ name }) => words.reduce((sum, { blocks }) => sum + blocks[name], 0) / words.length);
    const look = () => {
      this.#app.editor.replace(text);
      this.#app.state.set({ view: "score" });
    };
    const over = words[0].weights.length > 0;
    this.#picture.hidden = false;
    byId("tip").hidden = true;
    this.#picture.replaceChildren(
      h("div", { class: "card-head" }, h("h2", { id: "align-title" }, "Where the words come from"), h("p", { class: "soft" }, over ? "λ of each source word at each word of the translation" : "by block of columns"), h("div", { class: "actions" }, h("button", { type: "button", class: "ghost", on: { click: look } }, "Open in Text"))),
      h("div", { class: "card-body stack" }, h("div", { class: "scroller" }, grid(over ? sentence.source : [], words, columns)), !over && h("p", { class: "note soft" }, this.#without(sentence))),
      h(
        "div",
        { class: "card-foot legend" },
        columns.map((column, k) => h("span", {}, swatch(column), `${column.label} ${share(means[k])}`)),
        over && h("span", { class: "row heat-key" }, "λ 0", h("span", { class: "heat-scale", "aria-hidden": "true" }), "100%"),
      ),
    );
  }

  #without({ source }) {
    return source.length ? "This model has no columns over the source, so there is no λ between words: its net alone reads the source. With --kind conditional it has." : "The source has no words.";
  }
}

/** A row for each word of the translation: what gave it, and λ of every source word; one stop for Tab, arrows inside. */
function grid(source, words, columns) {
  const level = Math.max(0, ...source.map(letters)) <= LEVEL;
  const heads = source.map((word) => h("th", { scope: "col" }, h("span", { class: level ? null : "downward" }, word)));
  const rows = words.map(({ word, probability, weights, given, blocks }) => {
    const head = h("th", { scope: "row", class: word === END ? "soft" : null }, word === END ? "↵ end" : word);
    const parts = columns.map((column) => blocks[column.name]);
    const cell = (props, told, ...inside) => h("td", { tabindex: "-1", "aria-label": told, ...props }, ...inside);
    const made = cell({ class: "made-of" }, `${nameOf(word)} ${percent(probability)}: ${spoken(columns, parts)}`, bar(columns, parts));
    const cells = weights.map((weight, j) => cell({ class: "heat", css: { "--weight": weight } }, `${quoted(source[j])} → ${quoted(word)}: λ ${share(weight)}, gave ${share(given[j])} of the word`));
    return { head, cells: [made, ...cells] };
  });
  const table = h(
    "table",
    { class: "align-grid", role: "grid", "aria-labelledby": "align-title" },
    h("thead", {}, h("tr", {}, h("td"), h("th", { scope: "col", class: "made-of" }, "Made of"), heads)),
    h("tbody", {}, rows.map(({ head, cells }) => h("tr", {}, head, cells))),
  );
  const cells = rows.map((row) => row.cells);
  cells[0][0].tabIndex = 0;
  connect(table, cells, rows.map(({ head }) => head), heads);
  return table;
}

/** The numbers of the cell under the mouse or with the focus, in the tip and by its two words; arrows go from cell to cell. */
function connect(table, cells, rowHeads, heads) {
  const place = (target) => {
    const y = cells.findIndex((row) => row.includes(target.closest?.("td")));
    return y < 0 ? null : [y, cells[y].indexOf(target.closest("td"))];
  };
  const point = (target) => {
    const at = target && place(target);
    for (const head of [...rowHeads, ...heads]) head.classList.remove("on");
    const tip = byId("tip");
    tip.hidden = !at;
    if (!at) return;
    const [y, x] = at;
    rowHeads[y].classList.add("on");
    heads[x - 1]?.classList.add("on");
    tip.textContent = cells[y][x].getAttribute("aria-label");
    const box = cells[y][x].getBoundingClientRect();
    tip.style.setProperty("left", `${Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8))}px`);
    tip.style.setProperty("top", `${box.top - tip.offsetHeight - 8}px`);
  };
  table.addEventListener("pointerover", ({ target }) => point(target));
  table.addEventListener("pointerleave", () => point(table.contains(document.activeElement) ? document.activeElement : null));
  table.addEventListener("focusin", ({ target }) => point(target));
  table.addEventListener("focusout", () => point(null));
  table.addEventListener("keydown", (event) => {
    const [y, x] = place(event.target) ?? [0, 0];
    const steps = { ArrowUp: [y - 1, x], ArrowDown: [y + 1, x], ArrowLeft: [y, x - 1], ArrowRight: [y, x + 1], Home: [y, 0], End: [y, cells[y].length - 1] };
    const [down, along] = steps[event.key] ?? [];
    const next = cells[down]?.[along];
    if (!next || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}

const letters = (word) => [...word].reduce((sum, letter) => sum + (letter > "\u2e80" ? 2 : 1), 0);

/** What is said where the chosen model reads no source: which do, or how to get one. */
function none(model, reading, state) {
  const chip = ({ name }) => h("button", { type: "button", class: "chip", on: { click: () => state.set({ model: name }) } }, name);
  const body = reading.length
    ? [h("p", {}, "It predicts a text from the text alone. These models predict a sentence from another one:"), h("div", { class: "chips" }, reading.map(chip))]
    : [h("p", {}, "A conditional mixture predicts a sentence from another one, such as a translation from its source. Train one from two texts with as many lines, and serve it:"), h("pre", { tabindex: "0" }, h("code", {}, HOW))];
  return h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", {}, reading.length ? `${model} reads no source` : "No model here reads a source")), h("div", { class: "card-body stack" }, body));
}
