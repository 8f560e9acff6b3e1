// The page as a whole: what is loaded, which view is open, who is told when the text, the cursor or the scores change.

import { byId, debounced, h } from "./dom.js";
import { Editor } from "./editor.js";
import { examples } from "./examples.js";
import { DIFFERENCES, STEPS, bitsOf, bitsText, decimals, differenceClass, integer, oneIn, percent, perplexityOf, plural, quoted, signed, surpriseClass } from "./format.js";
import { Scores } from "./scores.js";
import { Server } from "./server.js";
import { State } from "./state.js";

const EXEMPLIFIED = ["score", "compare", "why"];

export class App {
  server = new Server();
  state = new State();
  editor = new Editor();
  scores = new Scores(this.server);
  panel = byId("panel");
  wide = byId("wide");
  models = [];
  runs = [];
  typedAt = 0;
  views = {};
  #view = null;
  #scoreSoon = debounced(() => this.score(), 90);
  #hoverSoon = debounced(() => this.#tell("word"), 40);

  constructor() {
    this.server.complete = (body) => (this.about(body.model)?.source ? { source: this.values.source, ...body } : body);
  }

  get values() {
    return this.state.values;
  }

  get model() {
    return this.values.model;
  }

  /** What the server says of a model. */
  about(model) {
    return this.models.find(({ name }) => name === model);
  }

  /** Whether the model reads tokens of a tokenizer, of which words consist, in place of words. */
  get tokens() {
    return this.about(this.model)?.units === "tokens";
  }

  /** The word that is looked at: under the mouse, else at the cursor. */
  get word() {
    return this.editor.hovered ?? this.editor.word();
  }

  /** Names of the models that the editor's colours need. */
  get shownModels() {
    return this.values.view === "compare" ? this.views.compare.chosen : [this.model];
  }

  start(views) {
    for (const [name, View] of Object.entries(views)) this.views[name] = new View(this);
    this.editor.addEventListener("text", () => this.#textChanged());
    this.editor.addEventListener("caret", () => {
      this.state.set({ at: this.editor.caret });
      this.#tell("caret");
      this.#tell("word");
      this.markWord();
    });
    this.editor.addEventListener("hover", () => {
      this.markWord();
      this.#hoverSoon();
    });
    this.scores.addEventListener("scored", () => {
      this.repaint();
      this.#tell("scored");
    });
    this.state.addEventListener("change", ({ detail }) => {
      if (detail.has("source")) this.scores.forget();
      if (detail.has("view")) this.open();
      else if (["model", "models", "against", "source", "beam"].some((name) => detail.has(name))) this.refresh();
      if (detail.has("numbers")) this.#numbers();
    });
    this.#numbers();
    this.open();
  }

  /** Opens the view that the state names. */
  open() {
    this.#view?.leave?.();
    this.#view = this.views[this.values.view];
    byId("main").dataset.view = this.values.view;
    for (const button of document.querySelectorAll("[data-goto]")) {
      if (button.dataset.goto === this.values.view) button.setAttribute("aria-current", "page");
      else button.removeAttribute("aria-current");
    }
    this.panel.replaceChildren();
    this.wide.replaceChildren();
    this.#view.enter();
    this.refresh();
  }

  /** Everything again: after a change of model or view, or when the server is back. */
  refresh() {
    byId("editor-hint").textContent = this.about(this.model)?.source ? `Given ${quoted(this.values.source)}, which Translate changes.` : "One sentence per line.";
    this.legend();
    this.score();
    this.#tell("model");
    this.#tell("caret");
    this.#tell("word");
    this.markWord();
  }

  #tell(what) {
    this.#view?.update?.(what);
    if (what === "text" || what === "model") this.#offer();
  }

  /** Where a view is about the words of a text, and there is none, examples. */
  #offer() {
    const shown = this.panel.querySelector(".examples");
    const wanted = EXEMPLIFIED.includes(this.values.view) && !this.editor.text.trim();
    if (!wanted) shown?.remove();
    else if (!shown) this.panel.prepend(examples(this));
  }

  #textChanged() {
    this.typedAt = performance.now();
    this.state.set({ text: this.editor.text, at: this.editor.caret });
    byId("undo").hidden = !this.editor.canUndo;
    this.repaint();
    this.#scoreSoon();
    this.#tell("text");
  }

  /** Asks for scores of all sentences, the one at the cursor first. */
  score() {
    if (["runs", "align"].includes(this.values.view) || !this.model) return;
    const { line } = this.editor.place();
    const sound = this.editor.lines.filter((own) => own.words.length && !own.refused);
    const here = this.editor.lines[line];
    const texts = sound.includes(here) ? [here, ...sound] : sound;
    this.scores.want(this.shownModels, texts.map((own) => own.text));
    this.repaint();
    this.#tell("scored");
  }

  /** Colours for every line whose scores have come or whose colours mean something else now. */
  repaint() {
    const models = this.shownModels;
    const shown = `${[...models, this.values.source].join("\n")}\n`;
    for (const line of this.editor.lines) {
      if (!line.words.length) continue;
      const known = models.map((model) => this.scores.of(model, line.text));
      const failed = line.refused || known.find((own) => own?.error);
      const ready = !failed && models.length && known.every(Boolean);
      const painted = `${shown}${this.values.view === "compare"}\n${failed ? "failed" : ready}`;
      if (line.painted === painted) continue;
      if (failed) line.fail();
      else if (ready) line.paint(...(known.length > 1 ? differences(known) : surprises(known[0])));
      else if (line.painted && !line.painted.startsWith(shown)) line.unpaint();
      else continue;
      line.painted = painted;
    }
    this.#status();
  }

  markWord() {
    this.editor.mark(this.word);
    this.#tip();
  }

  /** The sentences that have scores, with their numbers; and of the whole text so far. */
  summary(model = this.model) {
    const total = { sentences: [], logProb: 0, predictions: 0, words: 0, unknown: 0, missing: 0, knownLogProb: 0 };
    this.editor.lines.forEach((line, at) => {
      if (!line.words.length) return;
      const own = this.scores.of(model, line.text);
      if (!own || own.error || line.refused) {
        total.missing += 1;
        return;
      }
      const predictions = own.words.length;
      total.sentences.push({ line: at, ...own, perplexity: perplexityOf(own.logProb, predictions) });
      total.logProb += own.logProb;
      total.predictions += predictions;
      total.words += predictions - 1;
      total.unknown += own.unknown;
      for (const word of own.words) if (word.known) total.knownLogProb += word.log_prob ?? -Infinity;
    });
    total.perplexity = perplexityOf(total.logProb, total.predictions);
    total.perplexityKnown = perplexityOf(total.knownLogProb, total.predictions - total.unknown);
    return total;
  }

  #status() {
    const { words, unknown, missing } = this.summary();
    const trouble = byId("editor-error");
    const refused = this.editor.lines.find((line) => line.refused);
    const failed = this.editor.lines.flatMap((line) => this.shownModels.map((model) => this.scores.of(model, line.text)?.error)).find(Boolean);
    const message = refused?.refused ?? failed?.message ?? (this.scores.error?.name === "Refused" ? this.scores.error.message : "");
    if (trouble.textContent !== message) trouble.textContent = message;
    trouble.hidden = !message;
    const parts = [plural(words, "word")];
    if (unknown) parts.push(`${integer(unknown)} unknown`);
    if (this.scores.busy && missing) parts.push(`scoring ${plural(missing, "sentence")} …`);
    byId("editor-status").textContent = words || this.scores.busy ? parts.join(" · ") : "";
  }

  #numbers() {
    byId("numbers").checked = this.values.numbers;
    byId("editor").classList.toggle("numbers", this.values.numbers);
  }

  legend() {
    const comparing = this.values.view === "compare" && this.shownModels.length > 1;
    const steps = [...Array(STEPS).keys()].map((step) => `s${step}`);
    const sides = DIFFERENCES.map((_, at) => at + 1);
    const classes = comparing ? [...sides.toReversed().map((at) => `l${at}`), "s0", ...sides.map((at) => `g${at}`)] : steps;
    const [from, to] = comparing ? ["lost 4+ bits", "gained 4+ bits"] : ["expected", `surprising (16+ bits)`];
    byId("legend").replaceChildren(from, h("span", { class: "scale" }, classes.map((name, at) => h("span", { class: name, title: comparing ? null : `${2 * at} bits and more: ${oneIn(2 ** (-2 * at))} and rarer` }))), to);
  }

  #tip() {
    const tip = byId("tip");
    const hovered = this.editor.hovered;
    const line = hovered && this.editor.lines[hovered.line];
    const known = line && this.shownModels.map((model) => this.scores.of(model, line.text));
    tip.hidden = !known?.length || known.some((own) => !own?.words);
    if (tip.hidden) return;
    const bits = known.map((own) => bitsOf(own.words[hovered.index].log_prob));
    const compared = known.length > 1;
    const rows = [h("b", {}, line.words[hovered.index]?.text ?? "end of sentence")];
    rows.push(compared ? ` ${signed(bits[0] - bits[1])} bits` : ` ${percent(2 ** -bits[0])} · ${bitsText(bits[0])} bits`);
    if (!known[0].words[hovered.index].known) rows.push(" · unknown word");
    tip.replaceChildren(...rows);
    const box = line.at(hovered.index).getClientRects()[0];
    const left = Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8));
    tip.style.setProperty("left", `${left}px`);
    tip.style.setProperty("top", `${box.top - tip.offsetHeight - 8}px`);
  }

  /** Says something to those who do not see the page. */
  announce(message) {
    byId("announcer").textContent = message;
  }

  toast(message) {
    const toast = byId("toast");
    toast.textContent = message;
    toast.hidden = false;
    clearTimeout(this.toastTimer);
    this.toastTimer = setTimeout(() => (toast.hidden = true), 2600);
  }
}

function surprises(known) {
  const marks = known.words.map((word) => {
    const bits = bitsOf(word.log_prob);
    return { colour: surpriseClass(bits), bits: bitsText(bits), unknown: !word.known };
  });
  return [marks, decimals(perplexityOf(known.logProb, known.words.length))];
}

/** Bits that the second model saves (positive: gained) against the first; no colour where only one knows the word. */
function differences([first, second]) {
  const marks = second.words.map((word, at) => {
    const bits = bitsOf(first.words[at].log_prob) - bitsOf(word.log_prob);
    return { colour: first.words[at].known === word.known ? differenceClass(bits) : "unlike", bits: signed(bits, Math.abs(bits) < 9.95 ? 1 : 0), unknown: !word.known };
  });
  return [marks, decimals(perplexityOf(second.logProb, second.words.length))];
}
