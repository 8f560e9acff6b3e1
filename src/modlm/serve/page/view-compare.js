// Two or more models on the same text: perplexities side by side, the word that is looked at, the words that moved most.

import { headCell } from "./columns.js";
import { h } from "./dom.js";
import { END, bitsOf, decimals, differenceClass, integer, nameOf, percent, perplexityOf, plural, signed } from "./format.js";

const MOVERS = 12;
const SPELLED = 8; // bits that each byte of an unknown word costs: without them, the fewer words a model knows, the better it looks
const HEAD = [
  "Model",
  "Perplexity",
  ["Unknown", "words that the model does not know, each scored as <unk>"],
  ["Bits/byte", "bits per byte of the whole text; unknown words pay for their letters too, 8 bits per byte"],
  ["Gained", "bits per byte less than the first model"],
];
const bytesOf = (text) => new TextEncoder().encode(text).length;

export class CompareView {
  #app;
  #choice = h("fieldset", { class: "choices" });
  #table = h("div", { class: "scroller" });
  #word = h("section", { class: "card", "aria-label": "Word", "aria-live": "polite" });
  #gained = h("div");
  #lost = h("div");

  constructor(app) {
    this.#app = app;
    this.card = h(
      "section",
      { class: "card", "aria-labelledby": "compare-title" },
      h("div", { class: "card-head" }, h("h2", { id: "compare-title" }, "Models on this text")),
      h("div", { class: "card-body stack" }, this.#choice, this.#table),
    );
    this.movers = h("div", { class: "two" }, this.#moversCard("Gained most", this.#gained), this.#moversCard("Lost most", this.#lost));
  }

  /** The models to compare, the first being what the others are measured against. */
  get chosen() {
    const names = this.#app.models.map(({ name }) => name);
    const { models } = this.#app.values;
    const wanted = models.length ? models : [this.#app.model, ...names.filter((name) => name !== this.#app.model)].slice(0, 2);
    return wanted.length > 1 ? this.#pairFirst(wanted) : wanted;
  }

  /** The editor shows the difference between the first two: put the one that is looked at second. */
  #pairFirst(names) {
    const { against } = this.#app.values;
    if (!against || against === names[0] || !names.includes(against)) return names;
    return [names[0], against, ...names.slice(1).filter((name) => name !== against)];
  }

  enter() {
    if (this.#app.models.length < 2) {
      this.#app.panel.replaceChildren(this.#alone());
      return;
    }
    this.#app.panel.replaceChildren(this.card, this.#word);
    this.#app.wide.replaceChildren(this.movers);
    this.#choices();
  }

  update(what) {
    if (this.#app.models.length < 2) return;
    if (what === "model") this.#choices();
    if (what === "model" || what === "scored" || what === "text") this.#numbers();
    if (what === "word" || what === "scored") this.#showWord();
  }

  #alone() {
    return h(
      "section",
      { class: "card" },
      h("div", { class: "card-head" }, h("h2", {}, "Only one model is loaded")),
      h("div", { class: "card-body stack" }, h("p", {}, "Start the server with two or more to see, word by word, which of them expects a text better:"), h("pre", {}, h("code", {}, "modlm serve ngram/ hybrid/")), h("p", { class: "soft" }, "Models with different vocabularies compare in bits per byte.")),
    );
  }

  #choices() {
    const chosen = this.chosen;
    const toggle = (name, on) => {
      const names = on ? [...chosen, name] : chosen.filter((own) => own !== name);
      if (names.length) this.#app.state.set({ models: names, against: "" });
      this.#choices();
    };
    this.#choice.replaceChildren(
      h("legend", { class: "hidden" }, "Models to compare"),
      ...this.#app.models.map(({ name }) =>
        h("label", { class: "switch" }, h("input", { type: "checkbox", checked: chosen.includes(name), on: { change: ({ target }) => toggle(name, target.checked) } }), h("span", {}, name)),
      ),
    );
  }

  /** Sums over the sentences that all chosen models have scored. */
  #totals() {
    const chosen = this.chosen;
    const totals = chosen.map((name) => ({ name, logProb: 0, predictions: 0, unknown: 0, bits: 0, bytes: 0 }));
    const moved = [];
    let unlike = 0; // words that some models know and others do not
    this.#app.editor.lines.forEach((line, at) => {
      const known = chosen.map((name) => this.#app.scores.of(name, line.text));
      if (!line.words.length || line.refused || known.some((own) => !own?.words)) return;
      known.forEach((own, model) => {
        totals[model].logProb += own.logProb;
        totals[model].predictions += own.words.length;
        totals[model].unknown += own.unknown;
        totals[model].bytes += bytesOf(line.text) + 1;
        totals[model].bits += bitsOf(own.logProb) + SPELLED * line.words.reduce((sum, { text }, at) => sum + (own.words[at].known ? 0 : bytesOf(text)), 0);
      });
      unlike += line.words.filter((_, index) => new Set(known.map((own) => own.words[index].known)).size > 1).length;
      if (known.length < 2) return;
      known[0].words.forEach((word, index) => {
        const bits = bitsOf(word.log_prob) - bitsOf(known[1].words[index].log_prob);
        if (!Number.isNaN(bits) && word.known === known[1].words[index].known) moved.push({ line: at, index, bits });
      });
    });
    return { totals, moved, unlike };
  }

  #numbers() {
    const { totals, moved, unlike } = this.#totals();
    const first = totals[0];
    const rows = totals.map(({ name, logProb, predictions, unknown, bits, bytes }, at) => {
      const gained = (first.bits - bits) / bytes;
      const looked = at === 1;
      const pick = h("button", { type: "button", class: "link", title: "Show its differences in the text", on: { click: () => this.#app.state.set({ against: name }) } }, name);
      return h(
        "tr",
        { class: looked ? "looked" : null },
        h("th", { scope: "row" }, at > 0 && !looked ? pick : name),
        h("td", { class: "number" }, decimals(perplexityOf(logProb, predictions))),
        h("td", { class: "number" }, integer(unknown)),
        h("td", { class: "number" }, bytes ? (bits / bytes).toFixed(3) : "–"),
        h("td", { class: `number ${at ? tone(gained) : ""}` }, at && bytes ? signed(gained, 3) : "–"),
      );
    });
    this.#table.replaceChildren(
      h("table", { class: "compare-table" }, h("thead", {}, h("tr", {}, HEAD.map((cell, at) => headCell(cell, at > 0)))), h("tbody", {}, rows)),
      unlike ? h("p", { class: "warning", role: "note" }, `${plural(unlike, "word is", "words are")} known to some of these models only (hatched in the text). <unk> is easy to predict, so the perplexities do not compare; bits per byte do.`) : "",
      totals.length > 1 ? h("p", { class: "soft note" }, "The text's colours: ", h("b", {}, totals[1].name), " against ", h("b", {}, totals[0].name), ".") : h("p", { class: "soft note" }, "Choose a second model."),
    );
    moved.sort((a, b) => b.bits - a.bits);
    this.#gained.replaceChildren(this.#list(moved.filter(({ bits }) => bits > 0.005).slice(0, MOVERS)));
    this.#lost.replaceChildren(this.#list(moved.filter(({ bits }) => bits < -0.005).slice(-MOVERS).reverse()));
  }

  #moversCard(title, body) {
    return h("section", { class: "card", "aria-label": title }, h("div", { class: "card-head" }, h("h2", {}, title), h("p", { class: "soft" }, "bits")), h("div", { class: "card-body" }, body));
  }

  #list(movers) {
    if (!movers.length) return h("p", { class: "soft" }, this.#app.editor.text.trim() ? "No word." : "Words of your text will appear here.");
    return h(
      "ol",
      { class: "movers" },
      movers.map(({ line, index, bits }) => {
        const words = this.#app.editor.lines[line].words.map((word) => word.text);
        return h(
          "li",
          {},
          h(
            "button",
            { type: "button", on: { click: () => this.#app.editor.goTo({ line, index }, { focus: true }) } },
            h("span", { class: `difference ${differenceClass(bits)}` }, signed(bits, 1)),
            h("span", { class: "in-context" }, h("span", { class: "soft" }, `${words.slice(Math.max(0, index - 4), index).join(" ")} `), h("b", {}, nameOf(words[index] ?? END)), h("span", { class: "soft" }, ` ${words.slice(index + 1, index + 3).join(" ")}`)),
          ),
        );
      }),
    );
  }

  #showWord() {
    const { word, editor, scores } = this.#app;
    const line = word && editor.lines[word.line];
    const chosen = this.chosen;
    const known = line ? chosen.map((name) => scores.of(name, line.text)) : [];
    if (!known.length || known.some((own) => !own?.words)) {
      this.#word.replaceChildren(h("div", { class: "card-body" }, h("p", { class: "soft pad" }, "Point at a word to see what each model thought of it.")));
      return;
    }
    const bits = known.map((own) => bitsOf(own.words[word.index].log_prob));
    const rows = chosen.map((name, at) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, name, known[at].words[word.index].known ? "" : h("span", { class: "soft" }, " (unknown)")),
        h("td", { class: "number" }, percent(2 ** -bits[at])),
        h("td", { class: "number" }, decimals(bits[at])),
        h("td", { class: `number ${at && known[at].words[word.index].known === known[0].words[word.index].known ? tone(bits[0] - bits[at]) : ""}` }, at ? signed(bits[0] - bits[at]) : "–"),
      ),
    );
    const head = ["Model", "Probability", "Bits", "Gained"].map((name, at) => h("th", { scope: "col", class: at ? "number" : null }, name));
    this.#word.replaceChildren(
      h("div", { class: "card-head" }, h("h2", { class: "word-name" }, nameOf(line.words[word.index]?.text ?? END))),
      h("div", { class: "card-body" }, h("table", { class: "compare-table" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows))),
    );
  }
}

const tone = (bits) => (bits > 0.0005 ? "good" : bits < -0.0005 ? "bad" : "");
