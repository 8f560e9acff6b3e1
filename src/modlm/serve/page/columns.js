// The columns of D: what their names mean, their colours, and bars and tables of their shares.

import { h } from "./dom.js";
import { percent, share } from "./format.js";

/** For each column name: a label, its block and order where it has them, and the class that gives its colour. */
export function describe(names) {
  const blocks = [];
  return names.map((name) => {
    const gram = /^(?:(.*)\/)?(\d+)-gram$/.exec(name);
    const block = gram ? (gram[1] ?? "") : name.replace(/\[\d+\] .*$/, ""); // of the columns over a source
    const special = ["delta", "uniform", "unknown"].find((kind) => block === kind || name.endsWith(`/${kind}`));
    if (special) return { name, label: name.replace("/", " "), block: null, order: null, class: `column ${special}` };
    if (!blocks.includes(block)) blocks.push(block);
    const order = gram ? Number(gram[2]) : null;
    const shade = `block-${blocks.indexOf(block) % 4} order-${Math.min(order ?? 4, 5)}`;
    return { name, label: name.replace("/", " "), block, order, class: `column ${shade}` };
  });
}

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
      columns.map((column, k) =>
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
