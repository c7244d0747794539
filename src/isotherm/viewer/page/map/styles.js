/** What each point looks like: its code in the palette, its size. */

import { NONE_16 } from "../data/format.js";
import { columnOf } from "../ui/colors.js";

/**
 * Codes of all documents in the present coloring; values that are missing get the one after the
 * last.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {{color: string}} state
 * @param {number} stage
 * @param {number} count colors of the coloring
 * @returns {Uint16Array}
 */
export function codesOf(data, state, stage, count) {
  const column = columnOf(data, state.color);
  const n = data.meta.n_documents;
  const codes = new Uint16Array(n);
  const values = column
    ? data.points.array(`column${data.meta.columns.indexOf(column)}`)
    : (data.codesAt(stage) ?? data.codesAt(Infinity));
  if (!values) return codes;
  if (column?.kind === "number") {
    for (let i = 0; i < n; i++) codes[i] = values[i] === NONE_16 ? count : values[i] >> 8;
  } else {
    for (let i = 0; i < n; i++) codes[i] = Math.min(values[i], count);
  }
  return codes;
}

/**
 * Sizes of all documents by a column of numbers.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {{size: string}} state
 * @returns {Uint8Array|null} 0..255; null: all alike
 */
export function sizesOf(data, state) {
  const column = columnOf(data, state.size);
  if (column?.kind !== "number") return null;
  const values = data.points.array(`column${data.meta.columns.indexOf(column)}`);
  return Uint8Array.from(values, (value) => (value === NONE_16 ? 0 : value >> 8));
}

/**
 * The colors as the card wants them.
 * @param {import("../ui/colors.js").Coloring} coloring
 * @param {Set<number>} hidden codes that are not drawn
 * @returns {Uint8Array} RGBA, a multiple of 256 of them; hidden ones have no alpha
 */
export function paletteOf(coloring, hidden) {
  const colors = [...coloring.colors, coloring.missing];
  const bytes = new Uint8Array(1024 * Math.ceil(colors.length / 256));
  colors.forEach((color, code) => {
    bytes.set(color, 4 * code);
    bytes[4 * code + 3] = hidden.has(code) ? 0 : 255;
  });
  return bytes;
}

/**
 * The size of a point, by how many there are and how near one is.
 * @param {number} n
 * @param {number} zoom 1: all is in view
 * @param {number} shorter side of the window, CSS pixels
 * @returns {number} CSS pixels
 */
function pointSize(n, zoom, shorter) {
  const plain = Math.min(10, Math.max(1.6, 14.2 - 2.1 * Math.log10(Math.max(n, 2))));
  const room = Math.min(1.7, Math.max(0.62, shorter / 720));
  return Math.min(22, plain * room * Math.max(0.8, zoom) ** 0.45);
}

/**
 * How solid points of a flat map are: where many lie over one another the thick of them shows.
 * @param {number} n
 * @param {number} zoom
 * @returns {number}
 */
function opacity(n, zoom) {
  const plain = 1.22 - 0.13 * Math.log10(Math.max(n, 2));
  return Math.min(0.92, Math.max(0.35, plain * Math.max(1, zoom) ** 0.2));
}

const LARGEST = 26;
const FOG = 0.6;

/**
 * What all points look like.
 * @param {import("./view.js").View} view
 */
export function lookOf({ camera, layers, n, places, theme, background }) {
  const shorter = Math.min(layers.width, layers.height);
  return {
    matrix: camera.matrix,
    mixing: places.mixing,
    size: pointSize(n, camera.zoom, shorter) * layers.ratio,
    largest: LARGEST * layers.ratio,
    eye: camera.eye,
    depth: camera.radius,
    fog: FOG,
    opacity: camera.deep ? 1 : opacity(n, camera.zoom),
    dimming: theme === "dark" ? 0.6 : 0.72,
    background,
  };
}
