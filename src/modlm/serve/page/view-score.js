// Text: the perplexity of the whole and of each sentence, and the card of a word.

import { h } from "./dom.js";
import { decimals, integer, plural, short } from "./format.js";
import { WordCard } from "./word-card.js";

const ROWS = 200; // sentences in the table; a longer text has its numbers beside the lines

export class ScoreView {
  #app;
  #card;
  #summary = h("section", { class: "card", "aria-label": "Perplexity" });
  #sentences = h("details", { class: "card sentences" });
  #said = "";

  constructor(app) {
    this.#app = app;
    this.#card = new WordCard(app);
    this.#sentences.addEventListener("toggle", () => this.#table());
  }

  enter() {
    this.update("text");
  }

  update(what) {
    const empty = !this.#app.editor.text.trim();
    if (what === "text" || what === "model") this.#place(empty);
    if (empty) return;
    if (what === "scored") this.#numbers();
    this.#card.show();
  }

  #place(empty) {
    if (empty) {
      this.#summary.remove();
      this.#card.element.remove();
      this.#app.wide.replaceChildren();
    } else if (!this.#summary.isConnected) {
      this.#app.panel.replaceChildren(this.#summary, this.#card.element);
      this.#numbers();
    }
  }

  #numbers() {
    const total = this.#app.summary();
    const facts = [
      ["Bits per word", decimals(-total.logProb / total.predictions / Math.LN2)],
      ["Sentences", integer(total.sentences.length)],
      ["Words", integer(total.words)],
      ["Unknown", integer(total.unknown)],
    ];
    if (total.unknown) facts.push(["PPL, known words", decimals(total.perplexityKnown)]);
    this.#summary.replaceChildren(
      h(
        "div",
        { class: "card-body summary" },
        h("div", { class: "headline" }, h("h2", {}, "Perplexity"), h("p", { class: "figure" }, total.predictions ? decimals(total.perplexity) : "…")),
        h("p", { class: "soft" }, described(this.#app)),
        h("dl", { class: "facts-list" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
      ),
    );
    this.#say(total);
    this.#list(total);
  }

  #say({ missing, perplexity, words, unknown }) {
    if (missing || !words) return;
    const said = `Perplexity ${decimals(perplexity)}, ${plural(words, "word")}, ${integer(unknown)} unknown.`;
    if (said === this.#said) return;
    this.#said = said;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#app.announce(this.#said), 900);
  }

  #list(total) {
    this.total = total;
    if (total.sentences.length < 2) {
      this.#app.wide.replaceChildren();
      return;
    }
    if (!this.#sentences.isConnected) this.#app.wide.replaceChildren(this.#sentences);
    if (!this.#sentences.firstChild) this.#sentences.append(h("summary", {}, h("h2", {}, "Sentences"), h("span", { class: "soft" }, "most surprising first")), h("div", { class: "card-body" }));
    this.#table();
  }

  #table() {
    if (!this.#sentences.open || !this.total) return;
    const sentences = this.total.sentences.toSorted((a, b) => b.perplexity - a.perplexity).slice(0, ROWS);
    const body = sentences.map(({ line, perplexity, words, unknown }) =>
      h(
        "tr",
        {},
        h("td", { class: "number" }, decimals(perplexity)),
        h("th", { scope: "row" }, h("button", { type: "button", class: "line-button", on: { click: () => this.#app.editor.goTo({ line, index: 0 }, { focus: true }) } }, this.#app.editor.lines[line]?.text)),
        h("td", { class: "number" }, integer(words.length - 1)),
        h("td", { class: "number" }, integer(unknown)),
      ),
    );
    const head = ["Perplexity", "Sentence", "Words", "Unknown"].map((name) => h("th", { scope: "col", class: name === "Sentence" ? null : "number" }, name));
    this.#sentences.lastElementChild.replaceChildren(
      h("table", { class: "sentence-table" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)),
      this.total.sentences.length > ROWS ? h("p", { class: "soft" }, `The other ${integer(this.total.sentences.length - ROWS)} have their perplexity beside their line.`) : "",
    );
  }
}

/** The model in a few words. */
function described({ models, model }) {
  const { kind, units, vocab_size: size, described: settings = {} } = models.find(({ name }) => name === model) ?? {};
  const parts = [kind, settings.smoothing, `${integer(size)} ${units}`, settings.parameters > 0 && `${short(settings.parameters)} parameters`];
  return parts.filter(Boolean).join(", ");
}
