/** Words of a topic: those that tell, or between how frequent they are and how much its own. */

/**
 * Words of a topic with probability and lift, as far as both are known.
 * @param {import("./explorer.js").Explorer} data
 * @param {import("./explorer.js").Topic} topic
 * @returns {{word: string, p: number, lift: number}[]}
 */
export function wordsOf(data, topic) {
  const totals = data.parts.words?.array("totals");
  const all = data.tokens;
  const words = new Map();
  const lifts = new Map(topic.lift ?? []);
  const base = (word) => {
    const w = all ? data.wordId(word) : -1;
    return w < 0 ? NaN : totals[w] / all;
  };
  for (const [word, p] of [...topic.words, ...(topic.frequent ?? [])])
    words.set(word, { word, p, lift: lifts.get(word) ?? p / base(word) });
  for (const [word, lift] of topic.lift ?? []) {
    if (!words.has(word)) words.set(word, { word, p: lift * base(word), lift });
  }
  return [...words.values()];
}

/**
 * Words ordered by relevance, l log p + (1 - l) log lift; what is not known comes last.
 * @param {{word: string, p: number, lift: number}[]} words
 * @param {number|null} l 1: by probability, 0: by lift; null: as they are, the most telling first
 */
export function byRelevance(words, l) {
  if (l === null) return [...words];
  const score = ({ p, lift }) => {
    const value = (l > 0 ? l * Math.log(p) : 0) + (l < 1 ? (1 - l) * Math.log(lift) : 0);
    return Number.isNaN(value) ? -Infinity : value;
  };
  return [...words].sort((a, b) => score(b) - score(a));
}
