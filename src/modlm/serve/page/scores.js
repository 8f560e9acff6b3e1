// Scores of sentences, asked for in pieces and remembered, so that typing asks only for the sentence that changed.
// A sentence is known by the model and its text; an answer to a text that is gone is remembered but shown nowhere.

import { END } from "./format.js";

const FIRST = { sentences: 12, words: 300 };
const PIECE = { sentences: 64, words: 2000 };
const KEPT = 20000; // sentences
const NEAREST = 1000; // words of context that are sent at most
const ALONG = 250; // words of a sentence up to which it is explained as a whole

export class Scores extends EventTarget {
  limits = {};
  busy = false;
  error = null;
  #server;
  #known = new Map();
  #explained = new Map();
  #reasons = new Map();
  #wanted = [];

  constructor(server) {
    super();
    this.#server = server;
  }

  /** What is known of a sentence: `words` (log_prob, known; the end last), `logProb`, `unknown`; or an `error`. */
  of(model, text) {
    return this.#known.get(key(model, text));
  }

  /** Asks for what is not known yet of the given sentences, in this order; replaces what was wanted before. */
  want(models, texts) {
    if (this.#known.size > KEPT) this.#known.clear();
    const seen = new Set();
    this.#wanted = models.flatMap((model) => texts.map((text) => ({ model, text }))).filter(({ model, text }) => {
      const own = key(model, text);
      if (seen.has(own) || this.#known.has(own)) return false;
      return seen.add(own);
    });
    if (!this.busy) this.#work();
  }

  /** Forgets failures, so that they are tried again. */
  retry() {
    for (const [own, value] of this.#known) if (value.error) this.#known.delete(own);
    for (const [own, value] of this.#explained) value.catch(() => this.#explained.delete(own));
  }

  async #work() {
    this.busy = this.#wanted.length > 0;
    for (let size = FIRST; this.#wanted.length; size = PIECE) {
      const piece = this.#piece(size);
      try {
        await this.#ask(piece[0].model, piece.map(({ text }) => text));
        this.error = null;
      } catch (error) {
        this.error = error; // the server is gone: what is still wanted is asked for when it is back
        this.#wanted = [];
      }
      this.dispatchEvent(new Event("scored"));
    }
    this.busy = false;
    this.dispatchEvent(new Event("scored"));
  }

  #piece({ sentences, words }) {
    const most = Math.min(words, this.limits.max_words ?? words);
    const { model } = this.#wanted[0];
    let length = 0;
    let count = 0;
    for (const own of this.#wanted) {
      length += own.text.split(" ").length;
      if (count && (own.model !== model || count === sentences || length > most)) break;
      count += 1;
    }
    return this.#wanted.splice(0, count);
  }

  /** One request; where it is refused, each half alone, until the sentence is found that is to blame. */
  async #ask(model, texts) {
    try {
      const answer = await this.#server.post("score", { model, sentences: texts, words: true });
      answer.sentences.forEach((sentence, at) => this.#known.set(key(model, texts[at]), scored(sentence, texts[at])));
    } catch (error) {
      if (error.name !== "Refused" || error.status === 401) throw error;
      if (texts.length === 1 || error.status >= 500 || error.status === 404) {
        for (const text of texts) this.#known.set(key(model, text), { error });
        return;
      }
      const half = texts.length >> 1;
      await this.#ask(model, texts.slice(0, half));
      await this.#ask(model, texts.slice(half));
    }
  }

  /** Columns, weights and shares of a word: with its whole sentence at once, or alone if the sentence is very long. */
  async explain(model, line, index) {
    if (line.words.length > ALONG) return fromReasons(await this.why(model, line, index));
    const { columns, words } = await remembered(this.#explained, key(model, line.text), async () => {
      const answer = await this.#server.post("explain", { model, text: line.text });
      return { columns: answer.columns, words: answer.sentences[0].words };
    });
    const { probability, known, columns: probs, weights, shares } = words[index];
    return { columns, probability, known, probs, weights, shares };
  }

  /** Contexts and counts of a word. */
  why(model, line, index) {
    const words = line.words.map((word) => word.text);
    const start = index <= NEAREST;
    const context = words.slice(Math.max(0, index - NEAREST), index).join(" ");
    const word = words[index] ?? END;
    return remembered(this.#reasons, key(model, `${context}\n${word}`), () =>
      this.#server.post("why", { model, context, word, start }),
    );
  }
}

const key = (model, text) => `${model}\n${text}`;

const WORDS = /[^ \t\v\f\r]+/g;
const SUBWORDS = "This model reads subwords, so it has no probability of each word. Next words shows its tokens.";

/** What the answer says of a sentence, if it says it of each of its words and of its end. */
function scored(sentence, text) {
  if (sentence.scores.length !== (text.match(WORDS) ?? []).length + 1) return { error: new Error(SUBWORDS) };
  return { words: sentence.scores, logProb: sentence.log_prob ?? -Infinity, unknown: sentence.unknown };
}

function fromReasons(reasons) {
  const rows = reasons.blocks.flatMap((block) => block.columns);
  return {
    columns: rows.map((row) => row.column), probability: reasons.probability, known: reasons.known,
    probs: rows.map((row) => row.probability), weights: rows.map((row) => row.weight), shares: rows.map((row) => row.share),
  };
}

/** The answer of an earlier call, or of this one; failures are not remembered. */
function remembered(answers, own, ask) {
  if (answers.size > 500) answers.clear();
  if (!answers.has(own)) {
    const answer = ask();
    answers.set(own, answer);
    answer.catch(() => answers.delete(own));
  }
  return answers.get(own);
}
