// The columns of D: what their names mean, their colours, and bars and tables of their shares.

import { h } from "./dom.js";
import { percent, share } from "./format.js";

const OVER = /\[\d+\] .*$/; // what the name of a column over a source has behind its block's
const BEST = 10; // words of a block over the source

/** The columns of an answer of /next, those over the source folded into one for each block, under its own attention. */
export function folded({ words, columns, rows }) {
  const names = Object.keys(columns);
  const blocks = [...new Set(names.map((name) => name.replace(OVER, "")))];
  if (blocks.length === names.length) return { words, columns, rows };
  const own = blocks.map((block) => names.map((_, k) => k).filter((k) => names[k].replace(OVER, "") === block));
  const given = Object.values(columns).map(({ weight }) => weight);
  const weights = own.map((among) => among.reduce((sum, k) => sum + given[k], 0));
  const mean = (row, b) => own[b].reduce((sum, k) => sum + (weights[b] ? given[k] / weights[b] : 1 / own[b].length) * row.columns[k], 0);
  const few = rows.map((row) => ({ ...row, columns: blocks.map((_, b) => mean(row, b)) }));
  const best = (b) => few.map((row) => ({ ...row, probability: row.columns[b] })).filter(({ probability }) => probability > 0).sort((x, y) => y.probability - x.probability).slice(0, BEST);
  const shares = (word) => Object.fromEntries(blocks.map((block, b) => [block, own[b].reduce((sum, k) => sum + word.shares[names[k]], 0)]));
  return {
    words: words.map((word) => ({ ...word, shares: shares(word) })),
    columns: Object.fromEntries(blocks.map((block, b) => [block, { weight: weights[b], words: columns[block]?.words ?? best(b) }])),
    rows: few,
  };
}

/** For each column name: a label, its block and order where it has them, and the class that gives its colour. */
export function describe(names) {
  const blocks = [];
  return names.map((name) => {
    const gram = /^(?:(.*)\/)?(\d+)-gram$/.exec(name);
    const block = gram ? (gram[1] ?? "") : name.replace(OVER, "");
    const special = ["delta", "uniform", "unknown"].find((kind) => block === kind || name.endsWith(`/${kind}`));
    if (special) return { name, label: name.replace("/", " "), block: null, order: null, class: `column ${special}` };
    if (!blocks.includes(block)) blocks.push(block);
    const order = gram ? Number(gram[2]) : null;
    const shade = `block-${blocks.indexOf(block) % 4} order-${Math.min(order ?? 4, 5)}`;
    return { name, label: name.replace("/", " "), block, order, over: OVER.test(name), class: `column ${shade}` };
  });
}

/** Whether a column is worth a row: of those over a source only the ones that gave something. */
export const matters = ({ over }, given) => !over || given >= 0.0005;

/** A stacked bar; `parts` are shares of `whole`, whose rest stays empty. */
export function bar(columns, parts, { whole = 1, label = "" } = {}) {
  return h(
    "div",
    { class: "bar", role: "img", "aria-label": label || spoken(columns, parts) },
    columns.map((column, k) => {
      const width = (100 * (parts[k] || 0)) / whole;
      return width > 0.05 && h("i", { class: column.class, title: `${column.label} ${share(parts[k])}`, css: { width: `${width}%` } });
    }),
  );
}

/** The shares in words, largest first. */
export function spoken(columns, shares) {
  const order = shares.map((_, k) => k).filter((k) => shares[k] >= 0.01);
  order.sort((a, b) => shares[b] - shares[a]);
  return order.map((k) => `${columns[k].label} ${share(shares[k])}`).join(", ");
}

export function swatch(column) {
  return h("span", { class: `swatch ${column.class}`, "aria-hidden": "true" });
}

/** λ, P, λ·P and the share of each column, one a row. */
export function sharesTable(columns, { probs, weights, shares }) {
  const head = ["Column", ["λ", "weight of the column"], ["P", "probability of the word in it"], ["λ·P", "what it gives"], "Share"];
  return h(
    "table",
    { class: "shares" },
    h("thead", {}, h("tr", {}, head.map((cell, at) => headCell(cell, at > 0)))),
    h(
      "tbody",
      {},
      columns.map((column, k) => matters(column, shares[k]) &&
        h(
          "tr",
          { class: shares[k] < 0.0005 ? "faint" : null },
          h("th", { scope: "row" }, swatch(column), column.label),
          [weights[k], probs[k], weights[k] * probs[k]].map((value) => h("td", { class: "number" }, percent(value))),
          h("td", { class: "number" }, share(shares[k])),
        ),
      ),
    ),
  );
}

/** A header cell, with an explanation where given as [text, explanation]. */
export function headCell(cell, number = false) {
  const [text, title] = [cell].flat();
  return h("th", { scope: "col", role: "columnheader", class: number ? "number" : null }, title ? h("abbr", { title }, text) : text);
}
