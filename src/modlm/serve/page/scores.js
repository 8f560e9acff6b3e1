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

  /** When a sentence that is wanted has its scores, or will have none. */
  async ready(model, text) {
    while (this.busy && !this.#known.has(key(model, text))) await new Promise((resolve) => this.addEventListener("scored", resolve, { once: true }));
  }

  /** Forgets failures, so that they are tried again. */
  retry() {
    for (const [own, value] of this.#known) if (value.error) this.#known.delete(own);
    for (const [own, value] of this.#explained) value.catch(() => this.#explained.delete(own));
  }

  /** Forgets everything: the source has changed. */
  forget() {
    [this.#known, this.#explained, this.#reasons] = [new Map(), new Map(), new Map()];
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
    const known = this.#known; // not what there is when the answer comes, if all was forgotten meanwhile
    try {
      const answer = await this.#server.post("score", { model, sentences: texts, words: true });
      answer.sentences.forEach((sentence, at) => known.set(key(model, texts[at]), scored(sentence, texts[at])));
    } catch (error) {
      if (error.name !== "Refused" || error.status === 401) throw error;
      if (texts.length === 1 || error.status >= 500 || error.status === 404) {
        for (const text of texts) known.set(key(model, text), { error });
        return;
      }
      const half = texts.length >> 1;
      await this.#ask(model, texts.slice(0, half));
      await this.#ask(model, texts.slice(half));
    }
  }

  /** The tokens that a word consists of where a model reads tokens; else the word itself. */
  tokens(model, line, index) {
    return this.of(model, line.text)?.words?.[index].tokens ?? [{ index, word: line.words[index]?.text ?? END }];
  }

  /** Columns, weights and shares of a word, or of each of its tokens: with the whole sentence, unless it is very long. */
  async explain(model, line, index) {
    const tokens = this.tokens(model, line, index);
    if (line.words.length > ALONG) return Promise.all(tokens.map(async (_, at) => fromReasons(await this.why(model, line, index, at))));
    const { columns, words } = await remembered(this.#explained, key(model, line.text), async () => {
      const answer = await this.#server.post("explain", { model, text: line.text });
      return { columns: answer.columns, words: answer.sentences[0].words };
    });
    return tokens.map((token) => {
      const { probability, known, columns: probs, weights, shares } = words[token.index];
      return { columns, probability, known, probs, weights, shares };
    });
  }

  /** Contexts and counts of a word, or of one of its tokens. */
  why(model, line, index, at = 0) {
    const token = this.tokens(model, line, index)[at];
    if (!token) return Promise.reject(new Error("The model's tokenizer leaves this word out."));
    const words = line.words.slice(Math.max(0, index - NEAREST), index).map((own) => own.text);
    const start = index <= NEAREST;
    const within = at ? line.text.slice(line.words[index]?.start ?? line.words.at(-1).end, token.start) : ""; // of the word itself
    const context = [...words, ...(within ? [within] : [])].join(" ");
    const { word } = token;
    return remembered(this.#reasons, key(model, `${context}\n${word}`), () =>
      this.#server.post("why", { model, context, word, start }),
    );
  }
}

const key = (model, text) => `${model}\n${text}`;

const WORDS = /[^ \t\v\f\r]+/g;

/** What the answer says of a sentence: of each of its words and of its end. */
function scored(sentence, text) {
  const logProb = sentence.log_prob ?? -Infinity;
  if (sentence.scores[0].start === undefined) return { words: sentence.scores, logProb, unknown: sentence.unknown };
  const words = inWords(sentence.scores, text);
  return { words, logProb, unknown: words.filter((word) => !word.known).length };
}

/** Words and the end, from the tokens that they consist of; white space belongs to what follows it. */
function inWords(scores, text) {
  const places = [0]; // where each character begins: tokens count characters, and not halves of them as strings do
  for (const character of text) places.push(places.at(-1) + character.length);
  const ends = [...text.matchAll(WORDS)].map((word) => word.index + word[0].length);
  const groups = [...ends, Infinity].map(() => []);
  let word = 0;
  scores.forEach((token, index) => {
    const [start, end] = [places[token.start], places[token.end]];
    while (ends[word] <= start) word += 1;
    groups[index === scores.length - 1 ? ends.length : word].push({ ...token, index, start, text: text.slice(start, end).trim() || token.word });
  });
  return groups.map((tokens) => ({
    log_prob: tokens.some((token) => token.log_prob === null) ? null : tokens.reduce((sum, token) => sum + token.log_prob, 0),
    known: tokens.every((token) => token.known),
    tokens,
  }));
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
