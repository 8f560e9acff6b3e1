// The text: a textarea for writing, over a backdrop of the same letters that has the colours. Tells when the text, the
// cursor or the word under the mouse changes; a word is known by its line and its place there.

import { byId, debounced } from "./dom.js";
import { Line, common } from "./lines.js";

const LONG = 2000; // characters from which a paste is taken over
const HEAVY = 800; // words of one sentence from which the colours wait for a pause in typing; the letters never do

export class Editor extends EventTarget {
  input = byId("text-input");
  lines = [];
  hovered = null;
  #backdrop = byId("backdrop");
  #past = [];
  #marked = [];
  #caret = -1;
  #left = { at: 0, text: null };
  #pinned = null;
  #waiting = false;
  #later = debounced(() => this.#changed(), 150);

  constructor() {
    super();
    this.input.addEventListener("input", () => {
      this.#past = [];
      this.#waiting = this.lines.some((line) => line.words.length > HEAVY);
      if (this.#waiting) this.#later();
      else this.#changed();
    });
    this.input.addEventListener("click", (event) => {
      const word = this.#under(event.clientX, event.clientY);
      this.#moved();
      if (word) this.#pin(word);
    });
    this.input.addEventListener("keydown", (event) => {
      if (!this.canUndo || event.key !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey) return;
      event.preventDefault(); // the browser's own undo knows nothing of words that the page put in
      this.undo();
    });
    this.input.addEventListener("paste", (event) => this.#paste(event));
    this.input.addEventListener("focus", () => this.#taken());
    for (const event of ["keyup", "select"]) this.input.addEventListener(event, () => this.#moved());
    document.addEventListener("selectionchange", () => this.#focused && this.#moved());
    this.#followMouse();
    this.#render();
  }

  get text() {
    return this.input.value;
  }

  /** Where the cursor stands, or was left: a browser may forget its place in a text that is changed while focus is elsewhere. */
  get caret() {
    if (this.#focused) this.#left.at = this.input.selectionEnd;
    return Math.min(this.#left.at, this.text.length);
  }

  get #focused() {
    return document.activeElement === this.input;
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  /** A new text from the page itself; `undoable` keeps the old one for `undo`. */
  replace(text, { caret = text.length, undoable = true } = {}) {
    if (undoable) this.#past.push([this.text, this.caret]);
    this.input.value = text;
    this.#put(caret);
    this.#changed();
  }

  insert(at, piece, options = {}) {
    this.replace(this.text.slice(0, at) + piece + this.text.slice(at), { caret: at + piece.length, ...options });
  }

  undo() {
    const [text, caret] = this.#past.pop() ?? [this.text, this.caret];
    this.replace(text, { caret, undoable: false });
  }

  /** Keeps the present text for `undo`, before several changes that belong together. */
  remember() {
    this.#past.push([this.text, this.caret]);
  }

  moveTo(at, { focus = false } = {}) {
    if (focus) this.input.focus({ preventScroll: true });
    this.#put(at);
    this.#moved();
  }

  /** The line of the cursor and where in it the cursor stands. */
  place(at = this.caret) {
    let start = 0;
    for (let line = 0; line < this.lines.length; line += 1) {
      const end = start + this.lines[line].text.length;
      if (at <= end) return { line, offset: at - start, start };
      start = end + 1;
    }
    return { line: 0, offset: 0, start: 0 };
  }

  /** Where a line begins in the text. */
  startOf(line) {
    let start = 0;
    for (let before = 0; before < line; before += 1) start += this.lines[before].text.length + 1;
    return start;
  }

  /** The word that was clicked or gone to; else the one that the cursor touches or the next one, or the sentence's end. */
  word() {
    if (this.#pinned) return this.#pinned;
    const { line, offset } = this.place();
    const { words } = this.lines[line];
    if (!words.length) return null;
    const index = words.findIndex((word) => offset <= word.end);
    return { line, index: index < 0 ? words.length : index };
  }

  /** Moves the cursor to a word, and the page to it. */
  goTo({ line, index }, options) {
    const own = this.lines[line];
    if (!own?.words.length) return;
    const within = index < own.words.length ? own.words[index].start : own.text.length;
    this.moveTo(this.startOf(line) + within, options);
    this.#pin({ line, index });
    own.at(index)?.scrollIntoView({ block: "nearest" });
  }

  /** Puts a frame around a word, and marks its line. */
  mark(word) {
    for (const [element, name] of this.#marked) element.classList.remove(name);
    const line = word && this.lines[word.line];
    const element = line?.at(word.index);
    this.#marked = element ? [[element, "active"], [line.element, "here"]] : [];
    for (const [own, name] of this.#marked) own.classList.add(name);
  }

  #put(at) {
    this.input.setSelectionRange(at, at);
    this.#left = { at, text: this.#focused ? null : this.text };
  }

  /** Focus is back: the cursor goes where it was put meanwhile, unless somebody else has changed the text since. */
  #taken() {
    if (this.#left.text === this.text) this.#put(this.#left.at);
    this.#moved();
  }

  #changed() {
    this.#later.cancel();
    this.#waiting = false;
    this.#render();
    this.hovered = null;
    this.dispatchEvent(new Event("text"));
    this.#caret = -1;
    this.#moved();
  }

  /** Browsers take seconds to paste hundreds of lines into a textarea; this takes none, and can be undone too. */
  #paste(event) {
    const piece = (event.clipboardData?.getData("text/plain") ?? "").replaceAll(/\r\n?/g, "\n");
    if (piece.length < LONG) return;
    event.preventDefault();
    const { selectionStart: from, selectionEnd: to } = this.input;
    this.replace(this.text.slice(0, from) + piece + this.text.slice(to), { caret: from + piece.length });
  }

  #moved() {
    if (this.caret === this.#caret || this.#waiting) return;
    this.#caret = this.caret;
    this.#pinned = null;
    this.dispatchEvent(new Event("caret"));
  }

  #pin(word) {
    this.#pinned = word;
    this.dispatchEvent(new Event("caret"));
  }

  #under(x, y) {
    const element = document.elementsFromPoint(x, y).find((own) => own.classList.contains("w") || own.classList.contains("end"));
    const line = element ? this.lines.findIndex((own) => own.element === element.parentNode) : -1;
    return line < 0 ? null : { line, index: this.lines[line].indexOf(element) };
  }

  #render() {
    const texts = this.text.split("\n");
    const old = this.lines.map((line) => line.text);
    const [before, behind] = common(old, texts);
    const middle = texts.slice(before, texts.length - behind);
    const replaced = this.lines.slice(before, this.lines.length - behind);
    const kept = replaced.slice(0, middle.length);
    kept.forEach((line, at) => line.update(middle[at]));
    for (const line of replaced.slice(middle.length)) line.element.remove();
    const fresh = middle.slice(kept.length).map((text) => new Line(text));
    const elements = fresh.map((line) => line.element);
    const next = behind ? this.lines[this.lines.length - behind].element : null;
    if (next) next.before(...elements);
    else this.#backdrop.append(...elements);
    this.lines.splice(before, replaced.length, ...kept, ...fresh);
  }

  #followMouse() {
    let waiting = false;
    const over = (x, y) => {
      const hovered = this.#under(x, y);
      if (hovered?.line === this.hovered?.line && hovered?.index === this.hovered?.index) return;
      this.hovered = hovered;
      this.dispatchEvent(new Event("hover"));
    };
    this.input.addEventListener("pointermove", ({ pointerType, clientX, clientY, buttons }) => {
      if (pointerType === "touch" || buttons || waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        over(clientX, clientY);
      });
    });
    this.input.addEventListener("pointerleave", () => requestAnimationFrame(() => over(-1, -1)));
  }
}
