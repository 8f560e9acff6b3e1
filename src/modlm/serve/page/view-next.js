// Next words at the cursor: of the mixture and of each column side by side, and their product; taking one; writing on.

import { bar, describe, folded, spoken, swatch } from "./columns.js";
import { Latest, debounced, h, problem } from "./dom.js";
import { END, joined, nameOf, percent, quoted } from "./format.js";
import { Generator } from "./generate.js";
import { save } from "./picture.js";
import { Product } from "./product.js";

const WORDS = 10;
const NEAREST = 1000; // words of context that are sent at most

export class NextView {
  #app;
  #latest = new Latest();
  #list = h("ol", { class: "next-list", "aria-label": "Next words of the mixture" });
  #context = h("p", { class: "soft context" });
  #trouble = h("div");
  #columns = h("div", { class: "next-columns" });
  #product = new Product();
  #reset = h("button", { type: "button", class: "ghost", on: { click: () => this.#product.reset() } }, "Back to the model's λ");
  #asked = "";
  #words = [];
  #soon = debounced(() => this.#ask(), 90);
  #generator;

  constructor(app) {
    this.#app = app;
    this.#generator = new Generator(app, () => this.place());
    this.#list.addEventListener("keydown", (event) => this.#arrows(event));
    this.card = h(
      "section",
      { class: "card", "aria-labelledby": "next-title" },
      h("div", { class: "card-head" }, h("h2", { id: "next-title" }, "Next words"), this.#context),
      h("div", { class: "card-body stack" }, this.#trouble, this.#list),
    );
    const saving = (ending) => h("button", { type: "button", class: "ghost", "aria-label": `Save the picture as ${ending}`, on: { click: () => save(this.#product.element, `modlm.${ending.toLowerCase()}`) } }, ending);
    this.#product.element.addEventListener("change", () => (this.#reset.disabled = !this.#product.changed));
    this.product = h(
      "section",
      { class: "card", "aria-labelledby": "product-title" },
      h("div", { class: "card-head" }, h("h2", { id: "product-title" }, "p = D · λ"), h("p", { class: "soft" }, "Drag a λ: the others make room, and p follows."), h("div", { class: "actions" }, this.#reset, saving("SVG"), saving("PNG"))),
      h("div", { class: "card-body" }, this.#product.frame),
    );
    this.wide = h(
      "section",
      { class: "card", "aria-labelledby": "columns-title" },
      h("div", { class: "card-head" }, h("h2", { id: "columns-title" }, "Each column by itself"), h("p", { class: "soft" }, "λ is how far the mixture trusts the column after this context.")),
      h("div", { class: "card-body" }, this.#columns),
    );
  }

  get #size() {
    return this.#app.models.find(({ name }) => name === this.#app.model)?.vocab_size ?? 0;
  }

  get generating() {
    return this.#generator.running;
  }

  enter() {
    this.#app.panel.replaceChildren(this.card, this.#generator.element);
    this.#app.wide.replaceChildren(this.product, this.wide);
    this.#generator.show();
    this.#product.draw();
  }

  leave() {
    this.#generator.stop();
    this.#latest.stop();
    this.#asked = "";
  }

  update(what) {
    if (what === "model") this.#asked = "";
    if (what === "model" || what === "caret") this.#soon();
  }

  toggle() {
    this.#generator.toggle();
  }

  stop() {
    this.#generator.stop();
  }

  /** The words before the cursor in its sentence, and where a next word goes: a word that the cursor is in is finished. */
  place() {
    const { line, offset, start } = this.#app.editor.place();
    const own = this.#app.editor.lines[line];
    if (this.#app.tokens) return { context: own.text.slice(0, offset).split(/\s+/).filter(Boolean), at: start + offset }; // a token may go on with a word
    const before = own.words.filter((word) => word.start < offset);
    const at = start + Math.max(offset, before.at(-1)?.end ?? 0);
    return { context: before.map((word) => word.text), at };
  }

  async acceptFirst() {
    await this.#soon.now();
    if (this.#words[0]) this.#accept(this.#words[0]);
  }

  async #ask() {
    const { context } = this.place();
    const { model } = this.#app;
    const asked = `${model}\n${context.join(" ")}`;
    if (asked === this.#asked || !model) return;
    const signal = this.#latest.begin();
    try {
      const answer = await this.#app.server.post("next", { model, context: context.slice(-NEAREST).join(" "), start: context.length <= NEAREST, k: WORDS, by_column: true }, { signal });
      this.#asked = asked;
      this.#words = answer.words;
      this.#trouble.replaceChildren();
      this.#show(context, folded(answer));
    } catch (error) {
      const message = problem(error);
      if (!message) return;
      this.#words = [];
      this.#trouble.replaceChildren(message);
      this.#list.replaceChildren();
      this.product.hidden = this.wide.hidden = true;
    }
  }

  #show(context, { words, columns, rows }) {
    const after = context.length ? `after ${quoted(context.slice(-4))}` : "at the beginning of a sentence";
    this.#context.replaceChildren(after);
    this.product.hidden = this.wide.hidden = false;
    this.#product.set({ columns: describe(Object.keys(columns)), weights: Object.values(columns).map((own) => own.weight), rows, size: this.#size, note: `${after}, ${this.#app.model}` });
    this.#reset.disabled = true;
    const names = Object.keys(words[0]?.shares ?? {});
    const described = describe(names);
    const most = words[0]?.probability || 1;
    const focused = this.#list.contains(document.activeElement);
    this.#list.replaceChildren(...words.map((word, at) => h("li", {}, this.#button(word, at, described, most))));
    if (focused) this.#list.querySelector("button")?.focus();
    this.#columns.replaceChildren(...describe(Object.keys(columns)).map((column) => this.#column(column, columns[column.name])));
  }

  #button(next, at, columns, most) {
    const { word, probability, shares } = next;
    const parts = columns.map((column) => shares[column.name]);
    return h(
      "button",
      { type: "button", tabindex: at ? "-1" : "0", "aria-label": `${nameOf(word)}, ${percent(probability)}: ${spoken(columns, parts)}`, on: { click: () => this.#accept(next) } },
      h("span", { class: "next-word" }, label(next)),
      h("span", { class: "next-bar", css: { "--width": `${(100 * probability) / most}%` } }, bar(columns, parts)),
      h("span", { class: "number" }, percent(probability)),
    );
  }

  #column(column, { weight, words }) {
    const alike = words.length > 1 && words.at(0).probability <= words.at(-1).probability * 1.0001 && words.at(0).probability * this.#size < 1.01;
    return h(
      "section",
      { class: "next-column", "aria-label": column.label },
      h("h3", {}, swatch(column), column.label, h("span", { class: "weight", title: "weight of this column here" }, `λ ${percent(weight)}`)),
      h("div", { class: "bar thin", "aria-hidden": "true" }, h("i", { class: column.class, css: { width: `${Math.min(100, 100 * (weight ?? 0))}%` } })),
      words.length && !alike
        ? h("ol", {}, words.map((next) => h("li", {}, h("button", { type: "button", on: { click: () => this.#accept(next) } }, h("span", { class: "next-word" }, label(next)), h("span", { class: "number" }, percent(next.probability))))))
        : h("p", { class: "soft" }, column.order > 1 ? "Never saw this context: the same for every word." : words.length ? "The same for every word." : "No word."),
    );
  }

  /** Up and down in the list of words; one stop for Tab. */
  #arrows(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...this.#list.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    const next = buttons[Math.max(0, Math.min(buttons.length - 1, at + step))];
    for (const button of buttons) button.tabIndex = button === next ? 0 : -1;
    next.focus();
  }

  #accept({ word, text: piece }) {
    const { context, at } = this.place();
    const { text } = this.#app.editor;
    if (word === END) {
      this.#app.editor.insert(at, "\n");
      return;
    }
    if (piece !== undefined) {
      this.#app.editor.insert(at, joined(text[at - 1], piece));
      this.#app.announce(`${piece} added`);
      return;
    }
    const before = context.length && !/\s/.test(text[at - 1] ?? " ") ? " " : "";
    const behind = /^\s/.test(text.slice(at)) ? "" : " ";
    this.#app.editor.insert(at, before + word + behind);
    this.#app.announce(`${word} added`);
  }
}

/** What is shown of a next word; a space that a token begins with is seen, since without it the token goes on with a word. */
function label({ word, text }) {
  if (word === END) return h("em", {}, "end of sentence");
  return text ? text.replace(/^\s+/, "␣") : word;
}
