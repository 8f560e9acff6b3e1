// Lines of the editor's backdrop: each is a sentence, its words are elements, and editing touches only what changed.

import { h } from "./dom.js";

const TOKENS = /[^ \t\v\f\r]+|[ \t\v\f\r]+/g; // words and the white space between them, split as the toolkit splits
const SHORT = 3; // letters below which a word has no room for a mark of three
const RESERVED = new Set(["<s>", "</s>"]);

/** One sentence. `words` have text, start and end (within the line) and an element; the sentence's end has one too. */
export class Line {
  element = h("div", { class: "line" });
  text = "";
  words = [];
  painted = "";
  #tokens = [];
  #nodes = [];
  #end = null;

  constructor(text) {
    this.element.append(document.createElement("br"));
    this.update(text);
  }

  /** Why this line cannot be scored, if it cannot. */
  get refused() {
    const word = this.words.find((own) => RESERVED.has(own.text));
    return word ? `${word.text} marks the start or end of a sentence and is added automatically. Leave it out.` : "";
  }

  /** Takes a new text, keeping the elements of all words before and behind the place of the change. */
  update(text) {
    if (text === this.text) return;
    this.text = text;
    this.painted = "";
    const tokens = text.match(TOKENS) ?? [];
    const [before, behind] = common(this.#tokens, tokens);
    const old = this.#nodes.splice(before, this.#nodes.length - before - behind);
    const fresh = tokens.slice(before, tokens.length - behind).map(node);
    const next = this.#nodes[before] ?? this.#end ?? this.element.lastChild;
    for (const gone of old) gone.remove();
    next.before(...fresh);
    this.#nodes.splice(before, 0, ...fresh);
    this.#tokens = tokens;
    this.#place();
  }

  /** The element of a word, or of the sentence's end behind the last one. */
  at(index) {
    return index < this.words.length ? this.words[index].element : this.#end;
  }

  /** Which word an element is. */
  indexOf(element) {
    return element === this.#end ? this.words.length : this.words.findIndex((word) => word.element === element);
  }

  /** `marks`: for each word and the end, a class for the colour, a text of bits, and whether the word is unknown. */
  paint(marks, perplexity) {
    marks.forEach(({ colour, bits, unknown }, index) => {
      const element = this.at(index);
      const mark = unknown ? (this.words[index]?.text.length < SHORT ? " unknown-word short" : " unknown-word") : "";
      const name = index < this.words.length ? `w ${colour}${mark}` : `end ${colour}`;
      const full = element.classList.contains("active") ? `${name} active` : name;
      if (element.className !== full) element.className = full;
      if (element.dataset.bits !== bits) element.dataset.bits = bits;
    });
    this.element.dataset.perplexity = perplexity;
    delete this.element.dataset.error;
  }

  /** Marks the line as one without an answer. */
  fail() {
    this.unpaint();
    this.element.dataset.error = "";
  }

  /** Takes the colours away. */
  unpaint() {
    for (let index = 0; index <= this.words.length; index += 1) {
      const element = this.at(index);
      if (!element) continue;
      element.className = `${index < this.words.length ? "w" : "end"}${element.classList.contains("active") ? " active" : ""}`;
      delete element.dataset.bits;
    }
    delete this.element.dataset.perplexity;
    delete this.element.dataset.error;
  }

  #place() {
    this.words = [];
    let start = 0;
    this.#tokens.forEach((token, at) => {
      const element = this.#nodes[at];
      if (element.nodeType === Node.ELEMENT_NODE) this.words.push({ text: token, start, end: start + token.length, element });
      start += token.length;
    });
    if (this.words.length && !this.#end) {
      this.#end = h("span", { class: "end" });
      this.element.lastChild.before(this.#end);
    } else if (!this.words.length) {
      this.#end?.remove();
      this.#end = null;
      this.unpaint();
    }
  }
}

function node(token) {
  return /^[ \t\v\f\r]/.test(token) ? document.createTextNode(token) : h("span", { class: "w" }, token);
}

/** How many entries two lists share at their beginnings, and of the rest at their ends. */
export function common(a, b) {
  const least = Math.min(a.length, b.length);
  let before = 0;
  while (before < least && a[before] === b[before]) before += 1;
  let behind = 0;
  while (behind < least - before && a[a.length - 1 - behind] === b[b.length - 1 - behind]) behind += 1;
  return [before, behind];
}
