// Why a word has its probability: in a sentence, and as a table of the contexts that were looked up.

import { bar, describe, headCell, matters, swatch } from "./columns.js";
import { debounced, h, problem } from "./dom.js";
import { inWords } from "./why-words.js";
import { bitsText, decimals, integer, nameOf, oneIn, percent, share } from "./format.js";

const HEAD = [
  "Column",
  "Context that was looked up",
  ["Seen", "how often the context occurs in the training text"],
  ["Followers", "different words that followed it"],
  ["With the word", "how often this word followed it"],
  ["Fallback α", "share that is passed on to shorter contexts"],
  ["P", "probability of the word in this column"],
  ["λ", "weight of this column here"],
  ["λ·P", "what the column gives"],
  ["Share", "part of the word's probability"],
];

export class WhyView {
  #app;
  #card = h("section", { class: "card", "aria-live": "polite", "aria-label": "In plain words" });
  #asked = "";
  #token = 0; // which of the word's tokens, where the model reads tokens
  #soon = debounced(() => this.#ask(), 120);

  constructor(app) {
    this.#app = app;
  }

  enter() {
    this.#asked = "";
    this.#empty();
    this.#app.panel.replaceChildren(this.#card);
  }

  leave() {
    this.#asked = "left";
  }

  update(what) {
    if (what === "caret" || what === "model" || what === "text") this.#soon();
  }

  #empty() {
    this.#app.wide.replaceChildren();
    this.#card.replaceChildren(
      h("div", { class: "card-head" }, h("h2", {}, "Why this word?")),
      h("div", { class: "card-body stack" }, h("p", {}, "Click a word of the text, or move the cursor into it. You will see which contexts the model looked up, how often they occurred, and how far it trusted each.")),
    );
  }

  async #ask() {
    const { editor, model, scores, values } = this.#app;
    const word = editor.word();
    const line = word && editor.lines[word.line];
    if (values.view !== "why") return;
    if (!line || line.refused || !model) {
      this.#asked = "";
      this.#empty();
      return;
    }
    const asked = `${model}\n${line.words.slice(0, word.index + 1).map((own) => own.text).join(" ")}\n${word.index}`;
    if (asked === this.#asked) return;
    this.#asked = asked;
    this.#token = 0;
    await this.#tell(asked, model, { text: line.text, words: line.words }, word.index);
  }

  async #tell(asked, model, line, index) {
    const { scores } = this.#app;
    try {
      if (this.#app.tokens) await scores.ready(model, line.text); // which tokens a word consists of is known with its scores
      const tokens = scores.tokens(model, line, index);
      const reasons = await scores.why(model, line, index, this.#token);
      if (asked !== this.#asked) return;
      const turn = (at) => {
        this.#token = at;
        this.#tell(asked, model, line, index);
      };
      this.#show(reasons, tokens.length > 1 ? this.#choice(tokens, turn) : null);
    } catch (error) {
      if (asked !== this.#asked) return;
      this.#asked = "";
      this.#app.wide.replaceChildren();
      this.#card.replaceChildren(h("div", { class: "card-head" }, h("h2", {}, "Why this word?")), h("div", { class: "card-body" }, problem(error)));
    }
  }

  /** A button for each token of a word. */
  #choice(tokens, turn) {
    const buttons = tokens.map(({ text, word }, at) => h("button", { type: "button", class: "chip", "aria-pressed": String(at === this.#token), on: { click: () => turn(at) } }, text ?? nameOf(word)));
    return h("div", { class: "chips", role: "group", "aria-label": "Tokens of the word" }, buttons);
  }

  #show(reasons, choice) {
    const rows = reasons.blocks.flatMap((block) => block.columns);
    const columns = describe(rows.map((row) => row.column));
    const shares = rows.map((row) => row.share ?? 0);
    const { word, known, probability, rank, vocab_size: size } = reasons;
    const facts = [oneIn(probability), `${bitsText(-Math.log2(probability))} bits`, rank && `rank ${integer(rank)} of ${integer(size)}`].filter(Boolean).join(" · ");
    this.#card.replaceChildren(
      h(
        "div",
        { class: "card-body stack" },
        choice,
        h("div", { class: "word-head" }, h("h2", { class: `word-name${known ? "" : " is-unknown"}` }, nameOf(word)), h("p", { class: "figure" }, percent(probability)), h("p", { class: "soft facts" }, facts)),
        bar(columns, shares),
        ...inWords(reasons).map((sentence) => h("p", {}, sentence)),
      ),
    );
    this.#app.wide.replaceChildren(...this.#tables("Contexts and counts", reasons));
  }

  /** A table for the model, and one for each model that is a column of it. */
  #tables(title, reasons) {
    const rows = reasons.blocks.flatMap((block) => block.columns);
    const columns = describe(rows.map((row) => row.column));
    const table = h(
      "section",
      { class: "card", "aria-label": title },
      h("div", { class: "card-head" }, h("h2", {}, title), h("p", { class: "soft" }, "P(word) = Σ λ·P, longest context first")),
      h("div", { class: "card-body scroller", tabindex: "0", role: "group", "aria-label": "Table, may scroll sideways" }, this.#rows(rows, columns, reasons)),
      this.#notes(reasons, rows),
    );
    return [table, ...this.#sources(rows, columns), ...reasons.blocks.filter((block) => block.inside).flatMap((block) => this.#tables(`Inside ${block.name}`, block.inside))];
  }

  /** The sentences of an indexed text that shares come from. */
  #sources(rows, columns) {
    const told = rows.map((row, at) => ({ row, column: columns[at] })).filter(({ row }) => row.sources?.length && row.share >= 0.0005);
    if (!told.length) return [];
    const place = (hit) => h("li", {}, h("p", { class: "soft" }, `${hit.source}, line ${integer(hit.line)}`), h("p", {}, `${hit.before} `, h("mark", {}, hit.words), ` ${hit.after}`));
    const parts = told.map(({ row, column }) => h("section", { class: "stack" }, h("h3", {}, swatch(column), `${share(row.share)} from ${column.label}: ${integer(row.count)} of ${integer(row.total)} places`), h("ul", { class: "sources" }, row.sources.map(place))));
    return [h("section", { class: "card", "aria-label": "Where it was read" }, h("div", { class: "card-head" }, h("h2", {}, "Where it was read")), h("div", { class: "card-body stack" }, parts))];
  }

  #notes({ blocks }, rows) {
    const notes = blocks.map((block) => block.note).filter(Boolean);
    if (rows.some((row) => row.counted === "continuations" && row.total)) notes.unshift("° Kneser-Ney estimates shorter contexts by the different words before them, and not by how often they occur.");
    return h("div", { class: "card-body notes" }, [...new Set(notes)].map((note) => h("p", { class: "soft" }, note)));
  }

  #rows(rows, columns, { probability }) {
    const order = rows.map((_, at) => at).filter((at) => matters(columns[at], rows[at].share)).sort((a, b) => (columns[a].block !== columns[b].block ? a - b : (rows[b].order ?? 0) - (rows[a].order ?? 0)));
    const body = order.map((at) => {
      const row = rows[at];
      const mark = row.counted === "continuations" && row.total ? "°" : "";
      const values = [row.probability, row.weight, row.probability * row.weight];
      const cells = [`${integer(row.total)}${mark}`, integer(row.followers), `${integer(row.count)}${mark}`, row.fallback === null || row.fallback === undefined ? "–" : decimals(row.fallback)];
      return h(
        "tr",
        { role: "row", class: row.seen === false || (row.share ?? 0) < 0.0005 ? "faint" : null },
        h("th", { scope: "row", role: "rowheader" }, swatch(columns[at]), columns[at].label),
        h("td", { class: "looked-up", role: "cell" }, context(row)),
        [...cells, ...values.map(percent), share(row.share)].map((cell, number) => numberCell(cell, HEAD[number + 2])),
      );
    });
    return h(
      "table",
      { class: "why-table", role: "table" },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, HEAD.map((cell, at) => headCell(cell, at > 1)))),
      h("tbody", { role: "rowgroup" }, body),
      h("tfoot", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { scope: "row", role: "rowheader", colspan: 8 }, "Together"), numberCell(percent(probability), HEAD.at(-2)), numberCell("100%", HEAD.at(-1)))),
    );
  }
}

/** A number with the name of its column, which stands beside it on a phone. There a table is no grid any more, hence the roles. */
const numberCell = (text, [label]) => h("td", { class: "number", role: "cell", data: { label } }, text);

/** The words of a context; a note where it was never seen or there is none. */
function context(row) {
  if (!row.order) return h("span", { class: "soft" }, { uniform: "every word the same", delta: "this word alone, straight from the net" }[row.column] ?? "–");
  const words = (row.context ?? []).map((word) => (word === "<s>" ? h("span", { class: "edge", title: "the beginning of the sentence" }, "⟨start⟩") : word));
  if (!words.length) return h("span", { class: "soft" }, row.order === 1 ? "no context" : "fewer words than that come before this one");
  const text = words.flatMap((word) => [word, " "]);
  return row.seen === false ? [h("s", {}, text), h("span", { class: "soft" }, " never seen")] : h("span", {}, text);
}
