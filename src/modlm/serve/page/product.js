// p = D · λ as the paper draws it: rows of D for some words, λ beside it, their product; a λ can be dragged, and p follows.

import { h, svg } from "./dom.js";
import { END, UNKNOWN, percent, share } from "./format.js";

const ROWS = 9; // words; below them stand all others together
const FIRST = 6; // of the mixture's own best words; then the best of each column
const HIGH = 28;
const HEAD = 62;
const NARROW = 620; // pixels below which λ stands under D
const TOUCH = 38; // height of a λ there
const LETTER = 8; // width of an average letter of a word
const SMALL = 6.6; // and of small print
const NAMES = { p: "probabilities", D: "distributions", λ: "weights" };

/** λ with one weight moved: the others keep their proportions, or take those of `like` where nothing is left of them. */
export function moved(weights, k, value, like = weights) {
  const rest = 1 - weights[k];
  const base = rest > 1e-6 ? weights : like[k] < 1 - 1e-6 ? like : weights.map(() => 1 / weights.length);
  return weights.map((_, at) => (at === k ? value : (base[at] * (1 - value)) / (1 - base[k])));
}

/** The rows that are shown, of those that the server gave, most probable first: the mixture's best and each column's. */
export function chosenRows(given, size) {
  const rows = given.filter(({ word }) => word !== UNKNOWN); // which has columns of its own, and would dwarf the words
  const best = (rows[0]?.columns ?? []).map((_, k) => rows.reduce((most, row) => (row.columns[k] > most.columns[k] ? row : most)));
  const telling = best.filter((row, k) => row.columns[k] * size > 1.01); // a column that takes every word alike tells nothing
  const kept = [...new Set([...rows.slice(0, FIRST), ...telling, ...rows])].slice(0, ROWS);
  return rows.filter((row) => kept.includes(row));
}

const dot = (row, weights) => row.reduce((sum, own, k) => sum + own * weights[k], 0);
const fitting = (text, width, letter = LETTER) => (text.length * letter > width ? `${text.slice(0, Math.max(1, Math.floor(width / letter) - 1))}…` : text);
const wordOf = ({ word, text }) => (word === END ? "↵ end" : text ? text.replace(/^\s+/, "␣") : word);

/** What stands above a column, as long as it fits. */
function heading({ label, order, class: kind }, width) {
  if (kind.endsWith("delta")) return "δ";
  const full = order ? `${order}-gram` : label;
  if ((full.length + 1) * SMALL <= width) return full; // with room to the next one
  return order ? String(order) : width > 30 ? `${label.slice(0, 4)}.` : kind.endsWith("unknown") ? "?" : label[0];
}

export class Product {
  element = svg("svg", { class: "product", role: "group", "aria-label": "p = D · λ. The sliders change λ." });
  frame = h("div", { class: "scroller" }, this.element);
  #columns = [];
  #rows = []; // [{ label, columns }], the last for all other words
  #model = []; // the model's own λ
  #weights = [];
  #note = "";
  #places = {};
  #bars = [];
  #sliders = [];
  #width = 0;
  #longest = 1;

  constructor() {
    new ResizeObserver(() => this.#width !== this.frame.clientWidth && this.draw()).observe(this.frame);
  }

  /** `columns` as `describe` gives them, `rows` as the server does; `note` says after which words and whose they are. */
  set({ columns, weights, rows, size, note }) {
    const shown = chosenRows(rows, size);
    const others = columns.map((_, k) => Math.max(0, 1 - shown.reduce((sum, row) => sum + row.columns[k], 0)));
    this.#columns = columns;
    this.#rows = [...shown.map((row) => ({ label: wordOf(row), columns: row.columns })), { label: "others", columns: others }];
    this.#model = weights;
    this.#weights = weights;
    this.#note = note;
    this.draw();
  }

  get changed() {
    return this.#weights !== this.#model;
  }

  reset() {
    this.#change(this.#model);
  }

  draw() {
    this.#width = this.frame.clientWidth;
    if (!this.#width || !this.#rows.length) return;
    const places = (this.#places = layout(this.#width, this.#columns.length, this.#rows.map(({ label }) => label.length)));
    this.#longest = Math.max(...this.#rows.slice(0, -1).flatMap((row) => row.columns));
    const { width, height } = places;
    for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height })) this.element.setAttribute(name, value);
    this.#sliders = this.#columns.map((column, k) => this.#slider(column, k));
    this.element.replaceChildren(svg("g", { "aria-hidden": "true" }, this.#frame(), this.#matrix(), this.#products()), ...this.#sliders.map(({ group }) => group));
    this.#update();
  }

  /** Brackets, letters, signs and words. */
  #frame() {
    const { p, D, lambda, high, width, height, narrow } = this.#places;
    const letter = (text, { x, width: own }, y = HEAD - 40) => svg("text", { x: x + own / 2, y, "text-anchor": "middle" }, svg("tspan", { class: "symbol" }, text), svg("tspan", { class: "head", dx: 7 }, own > 120 ? NAMES[text] : ""));
    const sign = (text, x, y = HEAD + high / 2 + 8) => svg("text", { class: "sign", x, y, "text-anchor": "middle" }, text);
    return [
      letter("p", p), letter("D", D), letter("λ", lambda, lambda.y - (narrow ? 16 : Math.max(22, lambda.y - HEAD + 40))),
      bracket(p, HEAD, high), bracket(D, HEAD, high), bracket(lambda, lambda.y, lambda.high),
      sign("=", (p.x + p.width + D.x) / 2), narrow ? sign("·", lambda.x - 9, lambda.y + lambda.high / 2 + 8) : sign("·", (D.x + D.width + lambda.x) / 2),
      this.#rows.map(({ label }, at) => svg("text", { class: at < this.#rows.length - 1 ? "word" : "word rest", x: p.x - 12, y: middle(at), "text-anchor": "end" }, fitting(label, p.x - 12))),
      svg("text", { class: "caption", x: width - 2, y: height - 4, "text-anchor": "end" }, fitting(this.#note, width, SMALL)),
    ].flat();
  }

  /** The columns of D as bars, one above the other. */
  #matrix() {
    const { D, cell, high } = this.#places;
    const bars = this.#columns.map((column, k) => {
      const x = D.x + 8 + k * cell;
      const lines = this.#rows.slice(0, -1).map(({ label, columns }, at) =>
        svg("g", {}, svg("title", {}, `${label} in the ${column.label} column: ${percent(columns[k])}`), svg("rect", { class: "room", x, y: HEAD + at * HIGH, width: cell - 4, height: HIGH }), svg("rect", { class: "fill", x, y: HEAD + at * HIGH + 7, width: ((cell - 6) * columns[k]) / this.#longest, height: HIGH - 14, rx: 2 })),
      );
      return svg("g", { class: column.class }, svg("rect", { class: "strip", x: x - 2, y: HEAD + 2, width: cell - 2, height: high - 4, rx: 4 }), lines);
    });
    const middles = { "text-anchor": "middle" };
    const across = (k) => D.x + 6 + (k + 0.5) * cell;
    const heads = this.#columns.map((column, k) => svg("text", { class: "head", x: across(k), y: HEAD - 9, ...middles }, heading(column, cell), svg("title", {}, column.label)));
    const rest = this.#rows.at(-1).columns.map((value, k) => svg("text", { class: cell < 24 ? "rest tight" : "rest", x: across(k), y: middle(this.#rows.length - 1), ...middles }, cell > 34 ? share(value) : cell < 24 && value > 0.995 ? "all" : String(Math.round(100 * value))));
    this.#bars = bars;
    return [...bars, ...heads, ...rest];
  }

  /** p: what each column gives to each word, one behind the other. */
  #products() {
    const { p } = this.#places;
    this.parts = this.#rows.map((_, at) => this.#columns.map((column) => svg("rect", { class: `fill ${column.class}`, y: HEAD + at * HIGH + 7, height: HIGH - 14 })));
    this.sums = this.#rows.map((_, at) => svg("text", { class: at < this.#rows.length - 1 ? "value" : "value rest", x: p.x + p.width - 8, y: middle(at), "text-anchor": "end" }));
    return [...this.parts.slice(0, -1).flat(), ...this.sums];
  }

  #slider(column, k) {
    const { lambda, step } = this.#places;
    const y = lambda.y + k * step;
    const track = { x: lambda.track, y: y + step / 2 - 5, width: lambda.bar, height: 10, rx: 5 };
    const fill = svg("rect", { class: "fill", ...track });
    const knob = svg("circle", { class: "knob", cy: y + step / 2, r: 7 });
    const number = svg("text", { class: "value", x: lambda.x + lambda.width - 8, y: y + step / 2 + 4, "text-anchor": "end" });
    const group = svg(
      "g",
      { class: `lambda ${column.class}`, role: "slider", tabindex: "0", "aria-label": `λ of ${column.label}`, "aria-valuemin": 0, "aria-valuemax": 100, "aria-disabled": this.#columns.length < 2 },
      svg("rect", { class: "room", x: lambda.x + 2, y, width: lambda.width - 4, height: step }),
      svg("text", { class: "name", x: lambda.x + 8, y: y + step / 2 + 4 }, fitting(column.class.endsWith("delta") ? "δ" : column.label, lambda.track - lambda.x - 12, SMALL)),
      svg("rect", { class: "track", ...track }), fill, knob, number,
    );
    const take = (event) => {
      const box = this.element.getBoundingClientRect();
      const scale = box.width / this.#places.width;
      this.#move(k, ((event.clientX - box.left) / scale - lambda.track) / lambda.bar);
    };
    group.addEventListener("pointerdown", (event) => {
      group.setPointerCapture(event.pointerId);
      take(event);
    });
    group.addEventListener("pointermove", (event) => event.buttons && group.hasPointerCapture(event.pointerId) && take(event));
    group.addEventListener("keydown", (event) => this.#key(event, k));
    return { group, fill, knob, number };
  }

  #key(event, k) {
    const now = this.#weights[k];
    const steps = { ArrowRight: now + 0.01, ArrowUp: now + 0.01, ArrowLeft: now - 0.01, ArrowDown: now - 0.01, PageUp: now + 0.1, PageDown: now - 0.1, Home: 0, End: 1 };
    if (!(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.#move(k, steps[event.key]);
  }

  #move(k, value) {
    if (this.#columns.length < 2) return;
    this.#change(moved(this.#weights, k, Math.max(0, Math.min(1, value)), this.#model));
  }

  #change(weights) {
    this.#weights = weights;
    this.#update();
    this.element.dispatchEvent(new Event("change"));
  }

  /** Everything that λ decides. */
  #update() {
    const { p, lambda } = this.#places;
    const products = this.#rows.map((row) => dot(row.columns, this.#weights));
    const own = this.#rows.map((row) => dot(row.columns, this.#model));
    const most = Math.max(...products.slice(0, -1), ...own.slice(0, -1)) || 1;
    const first = products.slice(0, -1).reduce((best, value, at, all) => (value > all[best] ? at : best), 0);
    this.#rows.forEach(({ columns }, at) => {
      let x = p.x + 8;
      columns.forEach((value, k) => {
        const width = (p.bar * value * this.#weights[k]) / most;
        this.parts[at][k].setAttribute("x", x);
        this.parts[at][k].setAttribute("width", width);
        x += width;
      });
      this.sums[at].textContent = share(products[at]);
    });
    this.#weights.forEach((weight, k) => {
      const { group, fill, knob, number } = this.#sliders[k];
      fill.setAttribute("width", lambda.bar * weight);
      knob.setAttribute("cx", lambda.track + lambda.bar * weight);
      number.textContent = share(weight);
      this.#bars[k].setAttribute("opacity", (0.4 + 0.6 * Math.sqrt(weight)).toFixed(3)); // what is not trusted is pale
      group.setAttribute("aria-valuenow", Math.round(100 * weight));
      group.setAttribute("aria-valuetext", `${share(weight)}; most probable: ${this.#rows[first].label} ${share(products[first])}`);
    });
  }
}

const middle = (row) => HEAD + row * HIGH + HIGH / 2 + 4;

function bracket({ x, width }, y, high) {
  const ends = [[x, 1], [x + width, -1]];
  return ends.map(([at, side]) => svg("path", { class: "bracket", d: `M${at + 6 * side} ${y}H${at}V${y + high}H${at + 6 * side}` }));
}

/** Where p, D and λ stand: side by side, or λ beneath where there is little room. */
function layout(wanted, count, letters) {
  const narrow = wanted < NARROW;
  const high = letters.length * HIGH;
  const [most, bar, number, gap, least] = narrow ? [72, 36, 38, 22, 13] : [112, 84, 46, 34, 26];
  const p = { x: Math.min(most, Math.max(...letters) * LETTER + 14), width: bar + number + 16, bar };
  const D = { x: p.x + p.width + gap };
  const lambdaWidth = narrow ? 0 : Math.min(280, 206 + Math.max(0, wanted - 800) / 3);
  const cell = Math.min(96, Math.max(least, (wanted - D.x - 16 - (narrow ? 2 : gap + lambdaWidth + 2)) / count));
  D.width = 16 + count * cell - 4;
  const width = Math.max(wanted, D.x + D.width + (narrow ? 2 : gap + lambdaWidth + 2));
  const step = narrow ? TOUCH : Math.min(40, high / count);
  const top = narrow ? HEAD + high + 46 : HEAD + (high - step * count) / 2;
  const lambda = narrow ? { x: 20, width: width - 22, y: top, high: step * count } : { x: D.x + D.width + gap, width: lambdaWidth, y: top, high: step * count };
  lambda.track = lambda.x + 84;
  lambda.bar = lambda.width - 84 - 54;
  return { width, height: (narrow ? top + lambda.high : HEAD + high) + 26, p, D, lambda, cell, high, step, narrow };
}
