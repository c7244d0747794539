/** How reproducible topics and nodes are: how alike they are in two halves of the documents. */

/** What is less alike than this may be of these documents alone. */
export const SOLID = 0.8;

/**
 * The value with two digits; "" where it is not known.
 * @param {number|null} [value]
 * @returns {string}
 */
export function reproducible(value) {
  return Number.isFinite(value) ? value.toFixed(2) : "";
}

/**
 * The value in words.
 * @param {number|null} [value]
 * @returns {string|null} null where it is not known
 */
export function foundAgain(value) {
  if (!Number.isFinite(value)) return null;
  return `reproducible ${reproducible(value)}${value < SOLID ? ": only in this sample" : ""}`;
}
