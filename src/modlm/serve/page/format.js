// Numbers as people read them, and the steps of the colour scales.

const whole = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

export const BITS_PER_STEP = 2;
export const STEPS = 9;
export const END = "</s>";
export const UNKNOWN = "<unk>";

export const integer = (value) => (value === null || value === undefined ? "–" : whole.format(value));
export const short = (value) => compact.format(value);

/** −log₂ of a probability given as natural logarithm; null stands for minus infinity. */
export const bitsOf = (logProb) => (logProb === null ? Infinity : -logProb / Math.LN2);

export function scientific(value) {
  const [digits, exponent] = value.toExponential(1).split("e");
  const raised = [...String(Math.abs(Number(exponent)))].map((digit) => SUPERSCRIPTS[digit]).join("");
  return `${digits}·10${Number(exponent) < 0 ? "⁻" : ""}${raised}`;
}

/** A probability: three figures of a percentage, or a power of ten where that would be mostly zeros. */
export function percent(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value <= 0) return "0";
  if (value >= 0.9995) return "100%";
  const hundred = value * 100;
  return `${hundred < 1e-4 ? scientific(hundred) : hundred.toPrecision(3)}%`;
}

/** A share of a whole, where small parts need no figures. */
export function share(value) {
  if (!value) return "0%";
  if (value < 0.001) return "<0.1%";
  return `${(value * 100).toFixed(value >= 0.0995 ? 0 : 1)}%`;
}

export function decimals(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return "∞";
  if (Math.abs(value) >= 1e7) return scientific(value);
  if (Math.abs(value) >= 1000) return whole.format(Math.round(value));
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

export function oneIn(probability) {
  if (!(probability > 0)) return "never";
  const times = 1 / probability;
  if (times < 9.5) return `1 in ${times.toFixed(1).replace(/\.0$/, "")}`;
  if (times >= 1e15) return `1 in ${scientific(times)}`;
  return `1 in ${times < 1e6 ? whole.format(Number(times.toPrecision(2))) : short(times)}`;
}

export const bitsText = (bits) => (Number.isFinite(bits) ? bits.toFixed(bits < 9.95 ? 1 : 0) : "∞");

export function signed(bits, digits = 2) {
  if (Number.isNaN(bits)) return "–";
  if (!Number.isFinite(bits)) return bits > 0 ? "+∞" : "−∞";
  const text = Math.abs(bits).toFixed(digits);
  return Number(text) === 0 ? "0" : `${bits < 0 ? "−" : "+"}${text}`;
}

/** Which step of the scale of surprise. */
export function surpriseClass(bits) {
  return `s${Math.max(0, Math.min(STEPS - 1, Math.floor(bits / BITS_PER_STEP)))}`;
}

export const DIFFERENCES = [0.25, 1, 2, 4];

/** Which step of the scale of differences; positive is gained. Nothing for differences too small to matter. */
export function differenceClass(bits) {
  const size = Math.abs(bits);
  const step = DIFFERENCES.filter((edge) => size >= edge).length;
  return step && !Number.isNaN(bits) ? `${bits > 0 ? "g" : "l"}${step}` : "";
}

export const perplexityOf = (logProb, predictions) => (predictions ? Math.exp(-logProb / predictions) : NaN);

export const nameOf = (word) => (word === END ? "end of sentence" : word);
export const quoted = (words) => `“${[words].flat().map((word) => (word === "<s>" ? "⟨start⟩" : nameOf(word))).join(" ")}”`;
export const plural = (count, one, many = `${one}s`) => `${integer(count)} ${count === 1 ? one : many}`;

/** The text of a token behind a character: two spaces become one, and none stands at the beginning of a line. */
export const joined = (before, text) => (/\s/.test(before ?? " ") ? text.trimStart() : text);
