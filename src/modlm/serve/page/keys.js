// Keys: what they do, the list of them in the help, and single letters that can be switched off.

import { byId, h } from "./dom.js";
import { VIEWS } from "./state.js";

const KEYS = [
  ["Alt 1 … 6", "Text, Next words, Compare, Why, Runs, Translate"],
  ["Ctrl Enter", "take the most probable next word"],
  ["Ctrl Shift Enter", "generate, or stop"],
  ["Esc", "stop generating; leave the text"],
  ["← →", "in the text: another word; in a curve: another point; on a λ: less or more"],
  ["↑ ↓", "in a list of words: another word; Enter takes it"],
  ["← ↑ → ↓", "where the words of a translation come from: another pair of words"],
  ["E", "edit the text"],
  ["N", "numbers beneath the words"],
  ["L", "copy a link to this view"],
  ["T", "light, dark, or as the system"],
  ["?", "this page"],
];

export function connectKeys(app) {
  byId("keys").replaceChildren(
    ...KEYS.flatMap(([keys, meaning]) => [
      h("dt", {}, keys.split(" ").flatMap((key) => (key === "…" ? [" … "] : [h("kbd", {}, key), " "]))),
      h("dd", {}, meaning),
    ]),
  );
  const single = byId("single-keys");
  single.checked = stored() !== "off";
  single.addEventListener("change", () => store(single.checked ? "on" : "off"));
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]") || event.isComposing) return;
    const run = withModifier(app, event) ?? (single.checked && !typing(event.target) ? plain(event) : undefined);
    if (!run) return;
    event.preventDefault();
    run();
  });
}

function withModifier(app, event) {
  const control = event.ctrlKey || event.metaKey;
  const digit = /^Digit([1-6])$/.exec(event.code);
  if (event.altKey && !control && digit) return () => app.state.set({ view: VIEWS[Number(digit[1]) - 1] });
  if (control && event.key === "Enter") {
    return () => {
      app.state.set({ view: "next" });
      if (event.shiftKey) app.views.next.toggle();
      else app.views.next.acceptFirst();
    };
  }
  if (event.key === "Escape") {
    if (app.views.next.generating) return () => app.views.next.stop();
    if (event.target === app.editor.input) return () => document.querySelector('[aria-current="page"]').focus();
  }
  return undefined;
}

function plain(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
  const buttons = { n: "numbers", l: "copy-link", t: "theme", "?": "help-button" };
  if (event.key.toLowerCase() === "e") return () => byId("text-input").focus();
  const button = buttons[event.key.toLowerCase()];
  return button && (() => byId(button).click());
}

const typing = (target) => target.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=range])");

function stored() {
  try {
    return localStorage.getItem("modlm-keys");
  } catch {
    return null;
  }
}

function store(value) {
  try {
    localStorage.setItem("modlm-keys", value);
  } catch {
    // Not kept, then.
  }
}
