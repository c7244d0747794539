/** What lies below the points: the grid of the map, its magnification, the box of a deep one. */

import { continuous, css } from "../ui/colors.js";

/**
 * @typedef {object} Lattice
 * @property {Float32Array} nodes (N, L), 0..1
 * @property {number[][]} lines coordinates of the nodes along each axis
 * @property {Float32Array|null} strength (N) 0..1: magnification, by its logarithm
 * @property {number} dimensions
 */

/**
 * The grid of a map.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {number} map
 * @returns {Lattice|null} null where the map has none
 */
export function latticeOf(data, map) {
  const nodes = data.points.array(`map${map}.nodes`);
  const { dimensions, grid } = data.meta.maps[map];
  if (!nodes || !grid) return null;
  const lines = grid.map((count, d) => {
    let [low, high] = [Infinity, -Infinity];
    for (let at = d; at < nodes.length; at += dimensions) {
      low = Math.min(low, nodes[at]);
      high = Math.max(high, nodes[at]);
    }
    const step = count > 1 ? (high - low) / (count - 1) : 0;
    return Array.from({ length: count }, (_, at) => low + at * step);
  });
  const magnification = data.points.array(`map${map}.magnification`);
  return { nodes, lines, strength: magnification && strengths(magnification), dimensions };
}

/** Between the 2nd and the 98th of a hundred: a few wild ones at the rim say nothing. */
function strengths(magnification) {
  const logs = Float32Array.from(magnification, (value) => Math.log(Math.max(value, 1e-30)));
  const sorted = logs.slice().sort();
  const low = sorted[Math.floor(0.02 * sorted.length)];
  const high = sorted[Math.floor(0.98 * (sorted.length - 1))];
  return logs.map((value) => Math.min(1, Math.max(0, (value - low) / (high - low || 1))));
}

/**
 * The magnification of a flat map as a small picture, one pixel per node.
 * @param {Lattice} lattice
 * @param {"light"|"dark"} theme
 * @returns {HTMLCanvasElement}
 */
export function shadeOf({ nodes, lines, strength }, theme) {
  const canvas = document.createElement("canvas");
  const [columns, rows] = lines.map((line) => line.length);
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const tint = theme === "dark" ? [150, 175, 215] : [52, 74, 112];
  const index = (value, line) => {
    const step = line.length > 1 ? line[1] - line[0] : 1;
    return Math.min(line.length - 1, Math.max(0, Math.round((value - line[0]) / step)));
  };
  for (let node = 0; node < strength.length; node++) {
    const column = index(nodes[2 * node], lines[0]);
    const row = rows - 1 - index(nodes[2 * node + 1], lines[1]);
    image.data.set([...tint, 8 + 110 * strength[node]], 4 * (row * columns + column));
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/**
 * Draws the magnification of a flat map: cells where the grid is drawn too, else smooth.
 * @param {CanvasRenderingContext2D} context
 * @param {Lattice} lattice
 * @param {HTMLCanvasElement} shade
 * @param {import("./camera.js").Camera} camera
 * @param {boolean} cells
 */
export function drawShade(context, { lines }, shade, camera, cells) {
  const half = lines.map((line) => (line.length > 1 ? (line[1] - line[0]) / 2 : 0.5));
  const low = camera.project(lines.map((line, d) => line[0] - half[d]));
  const high = camera.project(lines.map((line, d) => line[line.length - 1] + half[d]));
  context.imageSmoothingEnabled = !cells;
  context.imageSmoothingQuality = "high";
  context.drawImage(shade, low.x, high.y, high.x - low.x, low.y - high.y);
}

/**
 * Draws the grid of a flat map.
 * @param {CanvasRenderingContext2D} context
 * @param {Lattice} lattice
 * @param {import("./camera.js").Camera} camera
 * @param {"light"|"dark"} theme
 */
export function drawLines(context, { lines }, camera, theme) {
  const [xs, ys] = lines;
  context.beginPath();
  for (const x of xs) segment(context, camera, [x, ys[0]], [x, ys[ys.length - 1]]);
  for (const y of ys) segment(context, camera, [xs[0], y], [xs[xs.length - 1], y]);
  context.lineWidth = 1;
  context.strokeStyle = css(theme === "dark" ? [255, 255, 255] : [20, 26, 40], 0.13);
  context.stroke();
}

/**
 * Draws the nodes of a deep map, by magnification if that is wanted.
 * @param {CanvasRenderingContext2D} context
 * @param {Lattice} lattice
 * @param {import("./camera.js").Camera} camera
 * @param {"light"|"dark"} theme
 * @param {boolean} magnified
 */
export function drawNodes(context, { nodes, strength }, camera, theme, magnified) {
  const ramp = continuous(theme);
  const plain = css(theme === "dark" ? [255, 255, 255] : [20, 26, 40], 0.2);
  for (let at = 0; at < nodes.length; at += 3) {
    const { x, y, w } = camera.project(nodes.subarray(at, at + 3));
    if (w <= 0) continue;
    const level = magnified && strength ? strength[at / 3] : null;
    const near = Math.min(3, camera.eye / w);
    const size = (level === null ? 1.6 : 1.5 + 3 * level) * near;
    context.fillStyle =
      level === null ? plain : css(ramp[Math.round(255 * level)], 0.25 + 0.5 * level);
    context.fillRect(x - size / 2, y - size / 2, size, size);
  }
}

/**
 * The far edges of the box of a deep map: they show how it is turned.
 * @param {import("./camera.js").Camera} camera
 * @param {{low: number[], high: number[]}} box
 * @returns {Float32Array|null} ends (x, y, z) of lines; null where the eye is inside
 */
export function farEdges(camera, { low, high }) {
  const corner = (bits) => low.map((value, d) => (bits & (1 << d) ? high[d] : value));
  const depths = Array.from({ length: 8 }, (_, bits) => camera.project(corner(bits)).w);
  if (depths.some((w) => w <= 0)) return null;
  const nearest = depths.indexOf(Math.min(...depths));
  const ends = [];
  for (let bits = 0; bits < 8; bits++) {
    for (let d = 0; d < 3; d++) {
      const other = bits | (1 << d);
      if (other === bits || bits === nearest || other === nearest) continue;
      ends.push(...corner(bits), ...corner(other));
    }
  }
  return Float32Array.from(ends);
}

function segment(context, camera, from, to) {
  const [a, b] = [camera.project(from), camera.project(to)];
  context.moveTo(a.x, a.y);
  context.lineTo(b.x, b.y);
}
