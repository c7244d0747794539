/** Values and shares as the parts have them, in codes of a few bits. */

import { NONE_16, NONE_8, SHARE_STEPS, STEPS } from "./format.js";

/**
 * What a document has in a column.
 * @param {import("./format.js").Column} column
 * @param {Uint8Array|Uint16Array} codes
 * @param {number} i
 * @returns {string|number|null} null: nothing is known
 */
export function valueOf(column, codes, i) {
  const code = codes[i];
  if (code === (codes.BYTES_PER_ELEMENT === 1 ? NONE_8 : NONE_16)) return null;
  if (column.kind === "category") return column.categories[code];
  return column.low + (code / STEPS) * (column.high - column.low);
}

/**
 * A number of a column with the digits that its steps can tell: no 8.0006 for an 8.
 * @param {import("./format.js").NumberColumn} column
 * @param {number} value
 * @returns {string}
 */
export function rounded({ low, high }, value) {
  const digits = Math.floor(-Math.log10((high - low) / STEPS || 1));
  return String(Number(value.toFixed(Math.max(0, Math.min(12, digits)))));
}

/**
 * The strongest topics of a document and their shares, largest first.
 * @param {import("./format.js").Parts["documents"]|null} documents
 * @param {number} i
 * @returns {[number, number][]} none where shares are not known
 */
export function sharesOf(documents, i) {
  const topics = documents?.array("shares.topic");
  const weights = documents?.array("shares.weight");
  if (!topics) return [];
  const width = documents.shape("shares.topic")[1];
  /** @type {[number, number][]} */
  const shares = [];
  for (let at = i * width; at < (i + 1) * width; at++) {
    if (weights[at] > 0) shares.push([topics[at], weights[at] / SHARE_STEPS]);
  }
  return shares;
}

/**
 * Where a word belongs, and how much of it, largest first.
 * @param {Uint32Array|null} start where the entries of each word begin; null: nothing is known
 * @param {Uint8Array|Uint16Array} numbers
 * @param {Uint8Array} shares
 * @param {number} w
 * @returns {[number, number][]}
 */
export function spreadOf(start, numbers, shares, w) {
  if (!start || w < 0 || w + 1 >= start.length) return [];
  /** @type {[number, number][]} */
  const spread = [];
  for (let at = start[w]; at < start[w + 1]; at++) {
    spread.push([numbers[at], shares[at] / SHARE_STEPS]);
  }
  return spread.sort((a, b) => b[1] - a[1]);
}
