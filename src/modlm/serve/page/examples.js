// What an empty page says: what to do here, and texts to begin with, one of them written by the model itself.

import { h, problem } from "./dom.js";

const TEXTS = [
  ["A short report", "the company said it expects profit to rise next year\nanalysts were surprised by the news\nshares fell in early trading but recovered later"],
  ["One odd word", "the bank raised its interest rates\nthe bank raised its interest penguins"],
  ["The same words, in order and not", "she did not know what to say about it\nit about say to what know not did she"],
];

export function examples(app) {
  const trouble = h("div");
  const buttons = TEXTS.map(([name, text]) => h("button", { type: "button", class: "chip", on: { click: () => use(app, text) } }, name));
  buttons.push(h("button", { type: "button", class: "chip", on: { click: () => written(app, trouble) } }, "Let the model write"));
  return h(
    "section",
    { class: "card examples", "aria-labelledby": "examples-title" },
    h("div", { class: "card-head" }, h("h2", { id: "examples-title" }, "Begin with a text")),
    h(
      "div",
      { class: "card-body stack" },
      h("p", {}, "Type or paste sentences, one a line. Each word is coloured by how much it surprises the model; point at one to see which of the model's columns expected it."),
      h("div", { class: "chips" }, buttons),
      trouble,
      h("p", { class: "soft" }, "Models know words as they stood in the training text. ", h("b", {}, "Tidy"), " sets ordinary prose apart into such words."),
    ),
  );
}

function use(app, text) {
  app.editor.replace(text, { caret: 0 });
}

/** Three sentences from the model, so that there is an example whatever its language. */
async function written(app, trouble) {
  trouble.replaceChildren();
  try {
    const lines = [];
    for (let count = 0; count < 3; count += 1) {
      const words = [];
      for await (const event of app.server.events("generate", { model: app.model, context: "", temperature: 0.8, max_words: 16, stream: true })) {
        if (event.error) throw new Error(event.error.message);
        if (event.word) words.push(event.word);
      }
      lines.push(words.join(" "));
    }
    use(app, lines.filter(Boolean).join("\n"));
  } catch (error) {
    trouble.replaceChildren(problem(error) ?? "");
  }
}
