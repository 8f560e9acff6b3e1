// Writing on at the cursor: settings, words that arrive one by one, and a button that stops them.

import { Latest, h, problem } from "./dom.js";
import { joined, percent, plural } from "./format.js";

const REASONS = { end: "the sentence ended", max_words: "the length was reached" };

export class Generator {
  running = false;
  #app;
  #place;
  #latest = new Latest();
  #button = h("button", { type: "button", class: "primary", on: { click: () => this.toggle() } }, "Generate");
  #status = h("p", { class: "soft", role: "status" });
  #trouble = h("div");
  #fields = h("div", { class: "generate-fields" });

  constructor(app, place) {
    this.#app = app;
    this.#place = place;
    app.editor.input.addEventListener("input", () => this.stop()); // whoever types takes over
    this.element = h(
      "section",
      { class: "card generator", "aria-labelledby": "generate-title" },
      h("div", { class: "card-head" }, h("h2", { id: "generate-title" }, "Write on"), h("p", { class: "soft" }, "drawn from the mixture, at the cursor")),
      h("div", { class: "card-body stack" }, this.#fields, this.#trouble, h("div", { class: "row" }, this.#button, this.#status)),
    );
  }

  show() {
    const slider = { type: "range" };
    const number = { type: "number" };
    this.#fields.replaceChildren(
      this.#field("temperature", "Temperature", { ...slider, min: 0, max: 2, step: 0.05 }),
      this.#field("top_p", "Top-p", { ...slider, min: 0.05, max: 1, step: 0.05 }),
      this.#field("top_k", "Top-k (0: all)", { ...number, min: 0, step: 1 }),
      this.#field("max_words", "Max words", { ...number, min: 1, max: 500, step: 1 }),
      this.#field("seed", "Seed", { ...number, min: 0, step: 1, placeholder: "random" }),
    );
  }

  #field(name, label, attributes) {
    const output = attributes.type === "range" ? h("span", { class: "value" }, String(this.#app.values[name])) : null;
    const input = h("input", {
      name, ...attributes, value: this.#app.values[name],
      on: {
        input: ({ target }) => {
          if (output) output.textContent = target.value;
          const value = target.value === "" ? "" : Number(target.value);
          this.#app.state.set({ [name]: value === "" && name !== "seed" ? this.#app.values[name] : value });
        },
      },
    });
    return h("label", { class: "field" }, h("span", {}, label, output), input);
  }

  toggle() {
    if (this.running) this.stop();
    else this.#run();
  }

  stop() {
    this.#latest.stop();
  }

  #settings() {
    const { temperature, top_k, top_p, max_words, seed } = this.#app.values;
    return { temperature, top_k, top_p, max_words, ...(seed === "" ? {} : { seed: Number(seed) }) };
  }

  async #run() {
    const { editor, server, model } = this.#app;
    const { context, at } = this.#place();
    const signal = this.#latest.begin();
    let count = 0;
    let place = at;
    let ending = "stopped";
    const add = (piece) => {
      editor.insert(place, piece, { undoable: false });
      place += piece.length;
    };
    this.#running(true);
    editor.remember();
    try {
      const body = { model, context: context.slice(-1000).join(" "), ...this.#settings(), stream: true };
      for await (const event of server.events("generate", body, { signal })) {
        if (event.error) throw new Error(event.error.message);
        if (event.done) {
          ending = REASONS[event.reason] ?? event.reason;
          if (event.reason === "end") add("\n");
        } else if (event.word) {
          const before = editor.text[place - 1];
          add(event.text === undefined ? (place > 0 && !/\s/.test(before) ? " " : "") + event.word : joined(before, event.text));
          count += 1;
          this.#status.textContent = `${plural(count, "word")} · the last had ${percent(event.probability)}`;
        }
      }
    } catch (error) {
      if (error.name !== "AbortError") {
        ending = "not finished";
        this.#trouble.replaceChildren(problem(error));
      }
    }
    this.#status.textContent = `${plural(count, "word")}: ${ending}.`;
    this.#running(false);
  }

  #running(running) {
    this.running = running;
    if (running) this.#trouble.replaceChildren();
    this.#button.textContent = running ? "Stop" : "Generate";
    this.#button.classList.toggle("stop", running);
  }
}
