// Ordinary prose as models read it: one sentence a line, punctuation apart, in lower case if the model knows that better.

const SAMPLE = 400; // words that decide about the case

export async function tidied(server, model, text) {
  const apart = sentences(text);
  const lower = apart.toLowerCase();
  if (apart === lower) return apart;
  const [kept, lowered] = await Promise.all([apart, lower].map((own) => unknown(server, model, own)));
  return lowered < kept ? lower : apart;
}

/** One sentence a line, punctuation apart. Abbreviations end sentences: a person will see that and mend it. */
export function sentences(text) {
  return text
    .replace(/[“”„]/g, '"')
    .replace(/[‘’]/g, "'")
    .replace(/([.!?]["')\]]*)[ \t]+(?=["'([]*\p{Lu})/gu, "$1\n")
    .replace(/([,;:!?()[\]"…]|--|—)/g, " $1 ")
    .replace(/\.(?=["')\]\s]*$)/gm, " . ")
    .replace(/(\p{L})('(?:s|re|ve|ll|d|m))\b/giu, "$1 $2")
    .replace(/(\p{L})(n't)\b/giu, "$1 $2")
    .split("\n")
    .map((line) => line.trim().replace(/[ \t]+/g, " "))
    .filter(Boolean)
    .join("\n");
}

async function unknown(server, model, text) {
  const words = text.split(/\s+/).slice(0, SAMPLE).join(" ");
  try {
    return (await server.post("score", { model, sentences: [words] })).unknown;
  } catch {
    return 0;
  }
}
