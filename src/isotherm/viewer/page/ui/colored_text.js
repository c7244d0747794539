/** A text whose words are colored by the topic that they belong to in it. */

import { h } from "./dom.js";

const WORD = /[\p{L}\p{N}\p{M}_]+/gu;
const LEFT = 0.02; // what a document's own topics leave to all others together

/**
 * Topics of a word within a document: P(k|w,d) ∝ P(w|k) P(k|d) ∝ P(k|w) P(k|d) / P(k).
 * @param {[number, number][]} spread P(k|w)
 * @param {Map<number, number>} own P(k|d) of the strongest topics
 * @param {{size: number}[]} topics with P(k)
 * @returns {[number, number][]} largest first
 */
export function topicsOfWord(spread, own, topics) {
  const rest = LEFT / Math.max(1, topics.length);
  const joint = spread.map(([k, p]) => [
    k,
    (p * ((own.get(k) ?? 0) + rest)) / Math.max(topics[k]?.size ?? 0, 1e-4),
  ]);
  const total = joint.reduce((sum, [, p]) => sum + p, 0);
  if (!total) return [];
  return joint
    .map(([k, p]) => /** @type {[number, number]} */ ([k, p / total]))
    .sort((a, b) => b[1] - a[1]);
}

/**
 * The text in pieces: words of the vocabulary with their topics, and what stands between.
 * @param {string} text
 * @param {(word: string) => number} wordId
 * @param {(w: number) => [number, number][]} topicsIn topics of a word in this document
 * @returns {{text: string, word: number, topics: [number, number][]}[]}
 */
export function pieces(text, wordId, topicsIn) {
  const result = [];
  const memory = new Map();
  let from = 0;
  for (const match of text.matchAll(WORD)) {
    const w = wordId(match[0].toLowerCase());
    if (w < 0) continue;
    if (!memory.has(w)) memory.set(w, topicsIn(w));
    const topics = memory.get(w);
    if (!topics.length) continue;
    if (match.index > from)
      result.push({ text: text.slice(from, match.index), word: -1, topics: [] });
    result.push({ text: match[0], word: w, topics });
    from = match.index + match[0].length;
  }
  if (from < text.length) result.push({ text: text.slice(from), word: -1, topics: [] });
  return result;
}

/**
 * The text as elements.
 * @param {ReturnType<typeof pieces>} parts
 * @param {{color: (k: number) => string, name: (k: number) => string, chosen: number,
 *   asked: Set<number>}} look
 * @returns {HTMLElement}
 */
export function passage(parts, look) {
  return h(
    "div.passage",
    { dir: "auto" },
    parts.map((part) => {
      if (part.word < 0) return part.text;
      const [k, p] = part.topics[0];
      return h("span.w", {
        text: part.text,
        "data-word": part.word,
        "data-topic": k,
        vars: { c: look.color(k), a: String(Math.round(p * 100) / 100) },
        title: part.topics
          .slice(0, 3)
          .map(([topic, share]) => `${look.name(topic)} ${Math.round(share * 100)} %`)
          .join("\n"),
        class: `w${part.word === look.chosen ? " same" : ""}${look.asked.has(part.word) ? " asked" : ""}`,
      });
    }),
  );
}
