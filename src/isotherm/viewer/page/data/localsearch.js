/** Search inside the file: cosine of tf-idf weights over the inverted index that it carries. */

import { sharesOf } from "./values.js";

const WORD = /[\p{L}\p{N}\p{M}_]+/gu;
// Longest query that is read, in words, and most topics that are returned for it.
const MOST_WORDS = 2000;
const MOST_TOPICS = 10;
// How stems are known: of so many words or more, less than this share is inflected.
const ENGLISH = /^[a-z]{4,}$/;
const INFLECTED = /(?:e|s|ed|ing|ly)$/;
const ENOUGH_WORDS = 200;
const FEW_INFLECTED = 0.15;
const SHORTEST_STEM = 3;
const LONGEST_ENDING = 5;

/**
 * A function that searches the file.
 * @param {import("./format.js").Parts["words"]} words
 * @param {import("./format.js").Parts["index"]} index
 * @param {import("./format.js").Parts["documents"]|null} documents
 * @param {import("./format.js").Parts["points"]} points
 * @returns {(query: string, n: number) => import("./source.js").SearchResult}
 */
export function createLocalSearch(words, index, documents, points) {
  const vocabulary = words.strings("words");
  const ids = new Map();
  for (let w = 0; w < vocabulary.length; w++) ids.set(vocabulary.get(w), w);
  const stems = holdsStems(ids.keys());
  const postings = createPostings(index);
  return (query, n) => {
    const { counts, unknown } = wordsOf(query, ids, stems);
    const topics = topicsOf(counts, words, points.meta.n_topics);
    const hits = ranked(counts, postings).slice(0, n);
    const share = new Map(topics);
    const most = new Set(hits.map((hit) => hit.document));
    const amounts = contributions(counts, postings, most);
    return {
      known: [...counts.keys()].map((w) => vocabulary.get(w)),
      unknown,
      topics,
      hits: hits.map(({ document, score }) => ({
        document,
        score,
        words: amounts.get(document).map(([w, amount]) => [vocabulary.get(w), amount]),
        topics: sharedTopics(documents, document, share),
        through_topics: 0,
      })),
    };
  };
}

/**
 * Whether a vocabulary holds stems of English words: then hardly any word has one of the endings
 * that every second word of a text has.
 * @param {Iterable<string>} vocabulary
 * @returns {boolean}
 */
function holdsStems(vocabulary) {
  let words = 0;
  let inflected = 0;
  for (const word of vocabulary) {
    if (!ENGLISH.test(word)) continue;
    words++;
    if (INFLECTED.test(word)) inflected++;
  }
  return words >= ENOUGH_WORDS && inflected < FEW_INFLECTED * words;
}

/**
 * The entry of a vocabulary that a word of a text stands for: the word as it is, in small letters,
 * or in the other number, since vocabularies often hold one form of a noun only; or its stem.
 * @param {string} word
 * @param {Map<string, number>} ids
 * @param {boolean} [stems] whether the vocabulary holds stems
 * @returns {number} -1 where there is none
 */
export function entryOf(word, ids, stems = false) {
  const small = word.toLowerCase();
  for (const form of [word, small, ...otherNumber(small), ...(stems ? stemsOf(small) : [])]) {
    const id = ids.get(form);
    if (id !== undefined) return id;
  }
  return -1;
}

/** English singulars and plurals that a word might be of; what is none is in no vocabulary. */
function otherNumber(word) {
  if (word.length < 4) return [];
  const forms = [`${word}es`];
  if (!word.endsWith("s")) forms.push(`${word}s`);
  if (word.endsWith("y")) forms.push(`${word.slice(0, -1)}ies`);
  if (word.endsWith("ies")) forms.push(`${word.slice(0, -3)}y`);
  if (word.endsWith("ices")) forms.push(`${word.slice(0, -4)}ix`, `${word.slice(0, -4)}ex`);
  if (word.endsWith("es")) forms.push(word.slice(0, -2));
  if (word.endsWith("s") && !word.endsWith("ss")) forms.push(word.slice(0, -1));
  return forms;
}

/** What the stem of a word may be, the longest first. */
function stemsOf(word) {
  const forms = word.endsWith("y") ? [`${word.slice(0, -1)}i`] : [];
  for (let n = word.length - 1; n >= Math.max(SHORTEST_STEM, word.length - LONGEST_ENDING); n--) {
    forms.push(word.slice(0, n));
  }
  return forms;
}

/**
 * Known words of a text by how often it has them, and its other words.
 * Pairs of neighbours are looked up as well, for vocabularies that have them.
 */
function wordsOf(query, ids, stems) {
  const tokens = (query.match(WORD) ?? []).slice(0, MOST_WORDS);
  const counts = new Map();
  const unknown = new Set();
  const add = (w) => counts.set(w, (counts.get(w) ?? 0) + 1);
  tokens.forEach((token, i) => {
    const w = entryOf(token, ids, stems);
    if (w >= 0) add(w);
    else if (token.length > 1) unknown.add(token.toLowerCase());
    const pair = ids.get(`${token} ${tokens[i + 1]}`.toLowerCase());
    if (pair !== undefined) add(pair);
  });
  return { counts, unknown: [...unknown] };
}

/** The inverted index: `each(word, visit)`, inverse document frequencies, norms of documents. */
function createPostings(index) {
  const start = index.array("postings.start");
  const bytes = index.array("postings.bytes");
  const nDocuments = index.shape("lengths")[0];
  const nWords = start.length - 1;
  const each = (w, visit) => {
    let at = start[w];
    const end = start[w + 1];
    const number = () => {
      let value = 0;
      let factor = 1;
      let byte;
      do {
        byte = bytes[at++];
        value += (byte & 127) * factor;
        factor *= 128;
      } while (byte & 128);
      return value;
    };
    for (let i = -1; at < end;) {
      i += number() + 1;
      visit(i, number());
    }
  };
  const idf = new Float64Array(nWords);
  const norms = new Float64Array(nDocuments);
  for (let w = 0; w < nWords; w++) {
    let frequency = 0;
    each(w, () => frequency++);
    idf[w] = frequency ? Math.log(1 + nDocuments / frequency) : 0;
    each(w, (i, count) => (norms[i] += (damped(count) * idf[w]) ** 2));
  }
  return { each, idf, norms: norms.map(Math.sqrt), nDocuments };
}

const damped = (count) => 1 + Math.log(count);

/** Documents with any of the words, best first; equal ones in their own order. */
function ranked(counts, { each, idf, norms, nDocuments }) {
  const scores = new Float64Array(nDocuments);
  const hits = [];
  for (const [w, count] of counts) {
    const weight = damped(count) * idf[w] * idf[w];
    each(w, (i, inside) => {
      if (scores[i] === 0) hits.push(i);
      scores[i] += (weight * damped(inside)) / norms[i];
    });
  }
  const norm = Math.sqrt([...counts].reduce((sum, [w, c]) => sum + (damped(c) * idf[w]) ** 2, 0));
  return hits
    .map((document) => ({ document, score: scores[document] / norm }))
    .sort((a, b) => b.score - a.score || a.document - b.document);
}

/** What each word adds to the score of each document of a set, the most telling first. */
function contributions(counts, { each, idf, norms }, documents) {
  const norm = Math.sqrt([...counts].reduce((sum, [w, c]) => sum + (damped(c) * idf[w]) ** 2, 0));
  const amounts = new Map([...documents].map((i) => [i, []]));
  for (const [w, count] of counts) {
    const weight = (damped(count) * idf[w] * idf[w]) / norm;
    each(w, (i, inside) => amounts.get(i)?.push([w, (weight * damped(inside)) / norms[i]]));
  }
  for (const pairs of amounts.values()) pairs.sort((a, b) => b[1] - a[1]);
  return amounts;
}

/** Topics of the query: the mean of the spreads of its words, strongest first. */
function topicsOf(counts, words, nTopics) {
  const start = words.array("spread.start");
  if (!start) return [];
  const topic = words.array("spread.topic");
  const share = words.array("spread.share");
  const sums = new Float64Array(nTopics);
  for (const [w, count] of counts) {
    for (let at = start[w]; at < start[w + 1]; at++) sums[topic[at]] += count * share[at];
  }
  const total = sums.reduce((a, b) => a + b, 0);
  if (!total) return [];
  return [...sums]
    .map((sum, k) => /** @type {[number, number]} */ ([k, sum / total]))
    .filter(([, p]) => p > 0)
    .sort((a, b) => b[1] - a[1])
    .slice(0, MOST_TOPICS);
}

/** Topics that a document shares with the query, sqrt(P(k|x) P(k|q)), most shared first. */
function sharedTopics(documents, i, share) {
  return sharesOf(documents, i)
    .map(([k, own]) => /** @type {[number, number]} */ ([k, Math.sqrt(own * (share.get(k) ?? 0))]))
    .filter(([, amount]) => amount > 0)
    .sort((a, b) => b[1] - a[1]);
}
