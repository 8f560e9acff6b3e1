// Curves in SVG: linear or logarithmic axis, values under the mouse or at the arrow keys. Knows nothing of training.

import { h, svg } from "./dom.js";
import { decimals, short } from "./format.js";

const MARGIN = { top: 12, right: 16, bottom: 38, left: 56 };

export class Chart {
  element = h("figure", { class: "chart" });
  #title;
  #height;
  #format;
  #series = [];
  #options = {};
  #at = null;
  #tip = h("div", { class: "chart-tip", hidden: true });
  #width = 0;

  /** `format` writes values of the y axis. */
  constructor(title, { height = 300, format = decimals } = {}) {
    this.#title = title;
    this.#height = height;
    this.#format = format;
    new ResizeObserver(([{ contentRect }]) => {
      if (Math.abs(contentRect.width - this.#width) > 1) this.draw();
    }).observe(this.element);
    this.element.tabIndex = 0;
    this.element.setAttribute("role", "group");
    this.element.addEventListener("keydown", (event) => this.#step(event));
    this.element.addEventListener("blur", () => this.#point(null));
    this.element.addEventListener("pointermove", (event) => this.#hover(event));
    this.element.addEventListener("pointerleave", () => this.#point(null));
  }

  /** `series`: name, class, points [[x, y], …] in order of x. `options`: log, xLabel, yLabel, xFormat, range. */
  set(series, options) {
    this.#series = series.filter(({ points }) => points.length);
    this.#options = options;
    this.element.setAttribute("aria-label", `${this.#title}. ${this.#series.map(({ name, points }) => `${name}: now ${this.#format(points.at(-1)[1])}`).join("; ")}. Arrow keys go along the curve.`);
    this.draw();
  }

  draw() {
    this.#width = this.element.clientWidth;
    if (!this.#width) return;
    const xs = this.#series.flatMap(({ points }) => points.map(([x]) => x));
    const ys = this.#series.flatMap(({ points }) => points.map(([, y]) => y));
    if (!xs.length) {
      this.element.replaceChildren(h("p", { class: "soft empty" }, "No evaluation yet: the first point comes with the first line of the journal."));
      return;
    }
    const { log, range } = this.#options;
    const low = range ? range[0] : Math.min(...ys);
    const high = range ? range[1] : Math.max(...ys);
    const pad = range ? 0 : log ? (Math.log(high / low) || 0.2) * 0.06 : (high - low || 1) * 0.06;
    const yDomain = log ? [low * Math.exp(-pad), high * Math.exp(pad)] : [low - pad, high + pad];
    this.x = scale([Math.min(0, ...xs), Math.max(...xs)], [MARGIN.left, this.#width - MARGIN.right], false);
    this.y = scale(yDomain, [this.#height - MARGIN.bottom, MARGIN.top], log);
    this.cursor = svg("g", { class: "cursor" });
    const picture = svg(
      "svg",
      { viewBox: `0 0 ${this.#width} ${this.#height}`, width: this.#width, height: this.#height, "aria-hidden": "true" },
      this.#grid(yDomain, log),
      this.#series.map(({ class: name, points }) => [
        svg("path", { class: `curve ${name}`, d: points.map(([x, y], at) => `${at ? "L" : "M"}${this.x(x).toFixed(1)} ${this.y(y).toFixed(1)}`).join("") }),
        svg("circle", { class: `dot ${name}`, cx: this.x(points.at(-1)[0]), cy: this.y(points.at(-1)[1]), r: 3.5 }),
      ]).flat(),
      this.cursor,
    );
    this.element.replaceChildren(picture, this.#tip);
    this.#point(this.#at);
  }

  #grid([low, high], log) {
    const { xLabel, yLabel, xFormat = short } = this.#options;
    const bottom = this.#height - MARGIN.bottom;
    const right = this.#width - MARGIN.right;
    const marks = (log ? logTicks : ticks)(low, high, 6);
    const text = tickTexts(marks, this.#options.percent);
    const rows = marks.map((value, at) => [
      svg("line", { class: "grid", x1: MARGIN.left, x2: right, y1: this.y(value), y2: this.y(value) }),
      svg("text", { class: "tick", x: MARGIN.left - 8, y: this.y(value) + 4, "text-anchor": "end" }, text[at]),
    ]);
    const [first, last] = this.x.domain;
    const columns = ticks(first, last, this.#width / 110).map((value) =>
      svg("text", { class: "tick", x: this.x(value), y: bottom + 18, "text-anchor": "middle" }, xFormat(value)),
    );
    return [
      ...rows.flat(), ...columns,
      svg("line", { class: "axis", x1: MARGIN.left, x2: right, y1: bottom, y2: bottom }),
      svg("text", { class: "axis-label", x: right, y: this.#height - 4, "text-anchor": "end" }, xLabel),
      yLabel && svg("text", { class: "axis-label", x: 4, y: MARGIN.top - 2 }, yLabel),
    ];
  }

  #hover(event) {
    if (!this.x || !this.#series.length) return;
    const box = this.element.getBoundingClientRect();
    this.#point(this.#nearest(this.x.back(event.clientX - box.left)));
  }

  #allX() {
    return [...new Set(this.#series.flatMap(({ points }) => points.map(([x]) => x)))].sort((a, b) => a - b);
  }

  #nearest(x) {
    return this.#allX().reduce((best, own) => (Math.abs(own - x) < Math.abs(best - x) ? own : best));
  }

  #step(event) {
    const all = this.#allX();
    const now = this.#at === null ? all.length : all.indexOf(this.#at);
    const places = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: all.length - 1 };
    if (!(event.key in places) || !all.length) return;
    event.preventDefault();
    this.#point(all[Math.max(0, Math.min(all.length - 1, places[event.key]))]);
  }

  /** Shows the values at an x, or none. */
  #point(x) {
    this.#at = x;
    this.#tip.hidden = x === null;
    this.cursor?.replaceChildren();
    if (x === null || !this.cursor) return;
    const rows = this.#series.map((own) => ({ ...own, point: own.points.findLast(([at]) => at <= x) })).filter(({ point }) => point);
    this.cursor.replaceChildren(
      svg("line", { class: "cursor-line", x1: this.x(x), x2: this.x(x), y1: MARGIN.top, y2: this.#height - MARGIN.bottom }),
      ...rows.map(({ class: name, point }) => svg("circle", { class: `dot ${name}`, cx: this.x(point[0]), cy: this.y(point[1]), r: 4.5 })),
    );
    const { xFormat = short, xLabel = "" } = this.#options;
    this.#tip.replaceChildren(
      h("p", { class: "soft" }, `${xFormat(x)} ${xLabel}`),
      ...rows.map(({ name, class: kind, point }) => h("p", {}, svg("svg", { class: "key", viewBox: "0 0 24 10", "aria-hidden": "true" }, svg("path", { class: `curve ${kind}`, d: "M1 5H23" })), h("span", {}, name), h("b", {}, this.#format(point[1])))),
    );
    const left = this.x(x) > this.#width / 2 ? this.x(x) - this.#tip.offsetWidth - 14 : this.x(x) + 14;
    this.#tip.style.setProperty("left", `${Math.max(0, left)}px`);
  }
}

/** A function from values to pixels, with `back` and its `domain`. */
function scale(domain, [from, to], log) {
  const map = log ? Math.log : (value) => value;
  const [low, high] = domain.map(map);
  const length = high - low || 1;
  const along = (value) => from + ((map(value) - low) / length) * (to - from);
  along.back = (pixel) => low + ((pixel - from) / (to - from)) * length;
  along.domain = domain;
  return along;
}

/** Round numbers between two values, about as many as wanted. */
export function ticks(low, high, wanted) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((own) => own >= rough);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, at) => (first + at) * step);
}

/** Round numbers on a logarithmic axis: as on a linear one where it spans little, else 1, 2, 5 of each decade. */
export function logTicks(low, high, wanted) {
  if (high / low < 4) return ticks(low, high, wanted);
  const found = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
    found.push(...[1, 1.5, 2, 3, 5, 7].map((factor) => factor * power).filter((value) => value >= low && value <= high));
  }
  return found.length <= wanted + 4 ? found : found.filter((value) => ["1", "2", "5"].includes(String(value)[0]) && !String(value).startsWith("15"));
}

/** The ticks of an axis in as few figures as tell them apart. */
export function tickTexts(values, percent) {
  if (percent) return values.map((value) => `${Math.round(value * 100)}%`);
  if (values.every((value) => Math.abs(Number(value.toPrecision(3)) - value) < 1e-9 * value)) return values.map(short);
  const step = Math.min(...values.slice(1).map((value, at) => value - values[at]));
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  return values.map((value) => value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
}
