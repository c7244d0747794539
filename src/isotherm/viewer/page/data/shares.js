/** What a set of documents is made of: topics, labels, and the words that stand out in it. */

/**
 * How often every code occurs among some documents.
 * @param {ArrayLike<number>} codes by document
 * @param {number} size number of codes
 * @param {ArrayLike<number>} documents
 * @returns {Uint32Array} (size + 1): the last one counts documents without a code
 */
export function countCodes(codes, size, documents) {
  const counts = new Uint32Array(size + 1);
  for (let at = 0; at < documents.length; at++) counts[Math.min(codes[documents[at]], size)]++;
  return counts;
}

/**
 * Codes by how many of the documents have them, with their share and the share that they have in
 * the whole collection.
 * @param {ArrayLike<number>} codes
 * @param {number} size
 * @param {ArrayLike<number>} documents
 * @returns {{code: number, count: number, share: number, base: number}[]}
 */
export function shares(codes, size, documents) {
  const here = countCodes(codes, size, documents);
  const everywhere = new Uint32Array(size + 1);
  for (let i = 0; i < codes.length; i++) everywhere[Math.min(codes[i], size)]++;
  const entries = [];
  for (let code = 0; code < size; code++) {
    if (!here[code]) continue;
    entries.push({
      code,
      count: here[code],
      share: here[code] / documents.length,
      base: everywhere[code] / codes.length,
    });
  }
  return entries.sort((a, b) => b.count - a.count);
}

/**
 * Words that a mixture of topics has more of than the collection: by p log (p / base), from the
 * first words of the topics.
 * @param {import("./explorer.js").Topic[]} topics
 * @param {{code: number, share: number}[]} mixture
 * @param {number} most
 * @returns {{word: string, p: number, ratio: number}[]}
 */
export function tellingWords(topics, mixture, most) {
  const here = new Map();
  for (const { code, share } of mixture) {
    for (const [word, p] of topics[code]?.words ?? [])
      here.set(word, (here.get(word) ?? 0) + share * p);
  }
  const everywhere = new Map();
  for (const topic of topics) {
    for (const [word, p] of topic.words) {
      if (here.has(word)) everywhere.set(word, (everywhere.get(word) ?? 0) + topic.size * p);
    }
  }
  return [...here]
    .map(([word, p]) => ({ word, p, ratio: p / (everywhere.get(word) || p) }))
    .filter(({ ratio }) => ratio > 1.05)
    .sort((a, b) => b.p * Math.log(b.ratio) - a.p * Math.log(a.ratio))
    .slice(0, most);
}
