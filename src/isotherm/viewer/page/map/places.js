/** Where the points are: places of every map and stage, in an order that any part of is fair. */

import { NONE_16, STEPS } from "../data/format.js";

/**
 * The documents in a random order that is always the same: the first m are a fair sample.
 * @param {number} n
 * @returns {Uint32Array} document of every position
 */
export function shuffled(n) {
  const order = new Uint32Array(n);
  let seed = 0x9e3779b9;
  for (let i = 0; i < n; i++) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((seed / 4294967296) * (i + 1));
    order[i] = order[j];
    order[j] = i;
  }
  return order;
}

/**
 * Places of all documents in a map at a stage: those kept for the stage, or else the final ones.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {number} map
 * @param {number} stage
 * @returns {Uint16Array} (I, L) flat
 */
export function placesAt(data, map, stage) {
  const stages = data.meta.stages ?? [];
  if (stage < stages.length - 1 && stages[stage]?.moved?.includes(map)) {
    const kept = data.parts.documents?.array(`stage${stage}.map${map}`);
    if (kept) return kept;
  }
  return data.points.array(`map${map}.places`);
}

/**
 * The box around documents, in coordinates 0..1 of the map.
 * @param {Uint16Array} places
 * @param {number} dimensions
 * @param {ArrayLike<number>|null} documents null: all
 * @returns {{low: number[], high: number[]}|null} null where none of them has a place
 */
export function bounds(places, dimensions, documents = null) {
  const low = new Array(dimensions).fill(Infinity);
  const high = new Array(dimensions).fill(-Infinity);
  const n = documents ? documents.length : places.length / dimensions;
  for (let at = 0; at < n; at++) {
    const start = (documents ? documents[at] : at) * dimensions;
    if (places[start] === NONE_16) continue;
    for (let d = 0; d < dimensions; d++) {
      const value = places[start + d] / STEPS;
      if (value < low[d]) low[d] = value;
      if (value > high[d]) high[d] = value;
    }
  }
  return low[0] <= high[0] ? { low, high } : null;
}

/**
 * The box that nearly all documents are in: a few strays do not make it large.
 * @param {Uint16Array} places
 * @param {number} dimensions
 * @returns {{low: number[], high: number[]}|null}
 */
export function mainBox(places, dimensions) {
  const n = places.length / dimensions;
  const step = Math.max(1, Math.floor(n / 20000));
  const sample = [];
  for (let i = 0; i < n; i += step) if (places[i * dimensions] !== NONE_16) sample.push(i);
  if (sample.length < 200) return bounds(places, dimensions);
  const ends = Array.from({ length: dimensions }, (_, d) => {
    const values = Uint16Array.from(sample, (i) => places[i * dimensions + d]).sort();
    return [0.004, 0.996].map((share) => values[Math.round(share * (values.length - 1))] / STEPS);
  });
  return { low: ends.map((end) => end[0]), high: ends.map((end) => end[1]) };
}

/**
 * The middle of the documents of every code: the median, which strays do not pull away.
 * @param {Uint16Array} places
 * @param {number} dimensions
 * @param {ArrayLike<number>} codes
 * @param {number} count how many codes there are
 * @returns {(number[]|null)[]} in coordinates 0..1; null for a code without documents
 */
export function middles(places, dimensions, codes, count) {
  const most = 1000; // a sample is enough: those that come first are at no special place
  const groups = Array.from({ length: count }, () => []);
  for (let i = 0; i < codes.length; i++) {
    const own = groups[codes[i]];
    if (own && own.length < most && places[i * dimensions] !== NONE_16) own.push(i);
  }
  return groups.map((documents) => {
    if (!documents.length) return null;
    return Array.from({ length: dimensions }, (_, d) => {
      const values = Uint16Array.from(documents, (i) => places[i * dimensions + d]).sort();
      return values[values.length >> 1] / STEPS;
    });
  });
}
