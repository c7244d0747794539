/** Text on a canvas, readable on any ground. */

const FONT = 'system-ui, -apple-system, "Segoe UI", "Helvetica Neue", sans-serif';

/**
 * @typedef {object} Writing a text and where it goes
 * @property {string} text
 * @property {number} size CSS pixels
 * @property {number} width CSS pixels
 * @property {number} x of its middle
 * @property {number} y
 * @property {number} opacity
 * @property {string} ink CSS
 * @property {string} halo CSS
 */

/**
 * Writes a text on a canvas, with a halo of the color behind it.
 * @param {CanvasRenderingContext2D} context in CSS pixels
 * @param {Writing} writing
 * @param {number} x of its middle
 * @param {number} y
 */
export function inscribe(context, { text, size, ink, halo }, x, y) {
  context.font = fontOf(size);
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.strokeStyle = halo;
  context.lineWidth = 3.5;
  context.strokeText(text, x, y);
  context.fillStyle = ink;
  context.fillText(text, x, y);
}

/**
 * @param {number} size CSS pixels
 * @returns {string} CSS of the font of all texts in the map
 */
export function fontOf(size) {
  return `600 ${size}px ${FONT}`;
}
