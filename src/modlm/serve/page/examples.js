// What an empty page says: what to do here, and texts to begin with. All come from the model itself, so that it knows
// their words whatever its language.

import { h, problem } from "./dom.js";
import { UNKNOWN } from "./format.js";

const DRAWN = 16; // sentences, of which the best are kept
const SETTINGS = { context: "", temperature: 0.7, max_words: 16, stream: false };
const LEAST = 7; // words of a sentence that is worth a look
const VARIANTS = 60; // sentences with an odd word that are tried

const TEXTS = [
  ["Sentences that it could write", ([first, second, third]) => [first, second, third]],
  ["One odd word", async (sentences, ask) => [sentences[0], await withOddWord(sentences, ask)]],
  ["The same words backwards", ([first]) => [first, first.split(" ").reverse().join(" ")]],
];

export function examples(app) {
  const trouble = h("div");
  const use = async (button, make) => {
    trouble.replaceChildren();
    button.disabled = true;
    try {
      const ask = (path, body) => app.server.post(path, { model: app.model, ...body });
      const lines = await make(await sentences(ask), ask);
      app.editor.replace(lines.filter(Boolean).join("\n"), { caret: 0 });
    } catch (error) {
      trouble.replaceChildren(problem(error) ?? "");
    }
    button.disabled = false;
  };
  const chip = ([name, make]) => h("button", { type: "button", class: "chip", on: { click: ({ currentTarget }) => use(currentTarget, make) } }, name);
  return h(
    "section",
    { class: "card examples", "aria-labelledby": "examples-title" },
    h("div", { class: "card-head" }, h("h2", { id: "examples-title" }, "Begin with a text")),
    h(
      "div",
      { class: "card-body stack" },
      h("p", {}, "Type or paste sentences, one per line. Each word is coloured by how much it surprises the model; point at one to see which of the model's columns expected it."),
      h("div", { class: "chips" }, TEXTS.map(chip)),
      trouble,
      h("p", { class: "soft" }, "The examples are in the model's own words. Models know words as they were written in the training text; ", h("b", {}, "Tidy"), " turns ordinary prose into such words."),
    ),
  );
}

/** Whole sentences without unknown words that the model draws, the same every time; the most probable first. */
async function sentences(ask) {
  const seeds = Array.from({ length: DRAWN }, (_, at) => at + 1);
  const drawn = await Promise.all(seeds.map((seed) => ask("generate", { ...SETTINGS, seed })));
  const known = drawn.filter(({ words }) => words.length && words.every(({ word }) => word !== UNKNOWN));
  const whole = known.filter(({ reason, text }) => reason === "end" && text.split(" ").length >= LEAST);
  const found = new Map((whole.length > 2 ? whole : known).map(({ text, words }) => [text.trim(), mean(words)]));
  if (!found.size) throw new Error("This model draws no sentence of known words. Type one of your own.");
  return [...found.keys()].sort((a, b) => found.get(b) - found.get(a));
}

const mean = (words) => words.reduce((sum, { probability }) => sum + Math.log(probability), 0) / words.length;

/** The first sentence with one word of another in place of its own: the one that the model expects least. */
async function withOddWord([first, ...others], ask) {
  const words = first.split(" ");
  const strange = [...new Set(others.join(" ").split(" "))].filter((word) => /^\p{L}+$/u.test(word) && !words.includes(word));
  const odd = strange.toSorted((a, b) => b.length - a.length); // long words say more
  const places = words.map((_, at) => at).filter((at) => at && words[at].length > 2);
  const variants = odd.flatMap((word) => places.map((at) => words.with(at, word).join(" "))).slice(0, VARIANTS);
  if (!variants.length) return "";
  const answer = await ask("score", { sentences: variants });
  const known = answer.sentences.map((own, at) => ({ ...own, text: variants[at] })).filter(({ unknown }) => !unknown);
  return known.sort((a, b) => (a.log_prob ?? -Infinity) - (b.log_prob ?? -Infinity))[0]?.text ?? "";
}
