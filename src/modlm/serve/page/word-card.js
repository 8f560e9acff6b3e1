// The card of one word: its probability at once, then where it comes from, then its rank among all words.

import { bar, describe, sharesTable, spoken } from "./columns.js";
import { debounced, h, problem } from "./dom.js";
import { END, bitsOf, bitsText, integer, nameOf, oneIn, percent, short } from "./format.js";

const QUIET = 1500; // ms without typing before words are read out

export class WordCard {
  element = h("section", { class: "card word-card", "aria-label": "Word" });
  #app;
  #asked = "";
  #fill = debounced((...given) => this.#explain(...given), 60);
  #rank = debounced((...given) => this.#ask(...given), 350);

  constructor(app) {
    this.#app = app;
    this.#empty();
  }

  /** Shows the word that is looked at; keeps what it shows while answers are on their way. */
  show() {
    const { editor, scores, model, word } = this.#app;
    const line = word && editor.lines[word.line];
    const own = line && scores.of(model, line.text);
    if (!own?.words) {
      if (!line || line.refused) this.#empty();
      return;
    }
    const asked = `${model}\n${this.#app.values.source}\n${line.text}\n${word.index}`;
    if (asked === this.#asked) return;
    this.#asked = asked;
    const scored = own.words[word.index];
    this.#frame(line.words[word.index]?.text ?? END, scored);
    const now = { text: line.text, words: line.words }; // the line itself may have changed when the question goes out
    this.#fill(asked, model, now, word.index);
    this.#rank(asked, model, now, word.index);
  }

  #empty() {
    this.#asked = "";
    this.#fill.cancel();
    this.#rank.cancel();
    this.element.replaceChildren(
      h("div", { class: "card-head" }, h("h2", {}, "Word")),
      h("div", { class: "card-body" }, h("p", { class: "soft" }, "Point at a word, tap it, or move the cursor into it: its probability appears here, with the columns it comes from.")),
    );
  }

  #frame(word, { log_prob: logProb, known }) {
    const bits = bitsOf(logProb);
    const probability = logProb === null ? 0 : Math.exp(logProb);
    this.facts = h("p", { class: "soft facts" }, `${oneIn(probability)} · ${bitsText(bits)} bits`);
    this.parts = h("div", { class: "stack parts" });
    const old = this.element.querySelector(".parts");
    if (old) this.parts.append(...old.childNodes); // what stood there stays until the answer comes, so that nothing jumps
    this.parts.classList.add("stale");
    this.element.replaceChildren(
      h(
        "div",
        { class: "card-body stack" },
        h(
          "div",
          { class: "word-head" },
          h("h2", { class: `word-name${known ? "" : " is-unknown"}` }, nameOf(word)),
          h("p", { class: "figure" }, percent(probability)),
          this.facts,
        ),
        known ? null : h("p", { class: "soft" }, "Not in the vocabulary, so ", h("code", {}, "<unk>"), " was scored in its place."),
        this.parts,
        h("button", { type: "button", class: "chip", on: { click: () => this.#app.state.set({ view: "why" }) } }, "Why? Contexts and counts"),
      ),
    );
  }

  async #explain(asked, model, line, index) {
    try {
      const explained = await this.#app.scores.explain(model, line, index);
      if (asked !== this.#asked) return;
      const tokens = this.#app.scores.tokens(model, line, index);
      this.parts.replaceChildren(...explained.flatMap((own, at) => part(own, explained.length > 1 ? tokens[at] : null)));
      if (explained.length === 1) this.#say(nameOf(line.words[index]?.text ?? END), describe(explained[0].columns), explained[0].shares);
    } catch (error) {
      if (asked === this.#asked) this.parts.replaceChildren(problem(error) ?? "");
    }
    this.parts.classList.remove("stale");
  }

  /** Tells those who do not see the card, when the cursor goes from word to word; not while somebody types. */
  #say(word, columns, shares) {
    if (this.#app.editor.hovered || performance.now() - this.#app.typedAt < QUIET) return;
    this.#app.announce(`${word}: ${this.element.querySelector(".figure").textContent}; ${spoken(columns, shares)}`);
  }

  async #ask(asked, model, line, index) {
    try {
      if (this.#app.scores.tokens(model, line, index).length > 1) return; // a word of many tokens has no rank
      const { rank, vocab_size: size } = await this.#app.scores.why(model, line, index);
      if (asked === this.#asked && rank) this.facts.append(` · rank ${integer(rank)} of ${size < 1e5 ? integer(size) : short(size)}`);
    } catch {
      // The rank is an extra: what went wrong stands in the table's place if it matters.
    }
  }
}

/** The bar and the table of a word, or of one of its tokens. */
function part({ columns: names, probability, probs, weights, shares }, token) {
  const columns = describe(names);
  const head = token && h("h3", { class: "token" }, h("span", {}, token.text ?? nameOf(token.word)), h("span", { class: "number" }, percent(probability)));
  return [head, bar(columns, shares), sharesTable(columns, { probs, weights, shares })].filter(Boolean);
}
