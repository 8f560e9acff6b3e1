// The reasons for a probability in plain words.

import { describe, spoken } from "./columns.js";
import { integer, oneIn, percent, plural, quoted, share } from "./format.js";

const MATTERS = 0.15; // share of the probability from which a column is spoken of

export function inWords(reasons) {
  const rows = reasons.blocks.flatMap((block) => block.columns.map((row) => ({ ...row, block: block.name })));
  return [opening(reasons), ...mainColumns(reasons, rows), unseen(rows), net(reasons)].filter(Boolean);
}

function opening({ word, known, probability, rank, context }) {
  const words = context.filter((own) => own !== "<s>");
  const after = words.length ? `after ${quoted(words.slice(-4))}` : "at the beginning of a sentence";
  const place = rank === 1 ? ", the most probable word of all" : rank ? `, the ${ordinal(rank)} most probable word` : "";
  const name = known ? quoted(word) : `${quoted(word)} is not in the vocabulary, so it counts as <unk>, which`;
  if (!(probability > 0)) return `${name} has no probability at all ${after}.`;
  return `${name} has a probability of ${percent(probability)} ${after}${place}: ${oneIn(probability)}.`;
}

/** A sentence for each column that gave a good part, the largest first. */
function mainColumns({ word, known, probability }, rows) {
  if (!(probability > 0)) return [];
  const columns = describe(rows.map((row) => row.column));
  const scored = known ? word : "<unk>";
  const main = rows.map((row, at) => ({ row, label: columns[at].label })).filter(({ row }) => row.share >= MATTERS);
  main.sort((a, b) => b.row.share - a.row.share);
  if (!main.length) return [`Many columns give a little: ${spoken(columns, rows.map((row) => row.share ?? 0))}.`];
  return main.map(({ row, label }, at) => `${at ? "Another " : ""}${row.share > 0.995 ? "All" : share(row.share)} of it comes from the ${label} column${evidence(row, scored)}`);
}

function evidence(row, word) {
  if (row.column === "delta" || row.column.endsWith("/delta")) return ": the net names this word directly, whatever the counts say.";
  if (/(^|\/)unknown$/.test(row.column)) return ", which is there only for words outside the vocabulary.";
  if (!row.order || row.total === null || row.total === undefined) return ".";
  if (row.seen === false) return ", which never saw this context and gives every word the same.";
  if (row.counted === "continuations") return continued(row, word);
  if (row.order === 1) return `: ${quoted(word)} occurs ${times(row.count)} among the ${integer(row.total)} words of the training text.`;
  const came = row.count ? `this one came ${times(row.count)}` : "this one never came";
  return `: ${quoted(row.context)} occurs ${times(row.total)} in the training text, followed by ${plural(row.followers, "different word")}; ${came}.`;
}

/** Kneser-Ney's shorter contexts count the different words before, and not how often. */
function continued(row, word) {
  const pair = row.order === 1 ? quoted(word) : quoted([...row.context, word]);
  const often = row.occurrences ? ` (it occurs ${times(row.occurrences)})` : "";
  return row.count ? `: ${pair} follows ${plural(row.count, "different word")} in the training text${often}.` : `, though ${pair} never occurs in the training text.`;
}

/** From which length on contexts are unknown, by block. */
function unseen(rows) {
  const counted = rows.filter((row) => row.order > 1 && row.context?.length === row.order - 1);
  const missing = counted.filter((row) => row.seen === false);
  if (!missing.length) return "";
  const shortest = missing.reduce((least, row) => (row.order < least.order ? row : least));
  const all = missing.length === counted.length;
  return all ? `Not even ${quoted(shortest.context)} was seen in training, so only single words and the rest of the mixture can help.` : `${quoted(shortest.context)} was never seen in training, so longer contexts say nothing here.`;
}

function net({ dense_mass: dense }) {
  if (dense === null || dense === undefined) return "";
  return `After this context the net puts ${share(dense)} of its weight on columns of counts and ${share(1 - dense)} on single words.`;
}

const times = (count) => (count === 1 ? "once" : count === 2 ? "twice" : `${integer(count)} times`);

function ordinal(number) {
  const end = number % 100 > 10 && number % 100 < 14 ? "th" : (["th", "st", "nd", "rd"][number % 10] ?? "th");
  return `${integer(number)}${end}`;
}
