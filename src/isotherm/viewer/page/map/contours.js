/** Lines of equal density over a flat map. */

import { css } from "../ui/colors.js";
import { NONE_16, STEPS } from "../data/format.js";

const SIDE = 144; // cells along each side of the box
const WIDEST = 9; // cells that a mean reaches, either way
const SHARES = [0.2, 0.4, 0.6, 0.8, 0.95]; // of the documents inside each line
const BORDER = 3 * WIDEST + 1; // empty cells around, so that lines close

/**
 * One path per line, innermost first.
 * @param {Uint16Array} places (I, 2)
 * @param {(i: number) => boolean} counted which documents count
 * @returns {Path2D[]} in coordinates 0..1 of the map
 */
export function contoursOf(places, counted) {
  const cells = histogram(places, counted);
  const n = cells.reduce((sum, value) => sum + value, 0);
  // The fewer there are, the less a single one may tell: the rule of Scott, for two dimensions.
  const reach = Math.min(WIDEST, Math.max(1, Math.round(14 * n ** (-1 / 6))));
  const density = smoothed(cells, reach);
  return levels(density).map((level) => outline(density, level));
}

/**
 * Draws the lines.
 * @param {CanvasRenderingContext2D} context in CSS pixels
 * @param {Path2D[]} paths
 * @param {import("./camera.js").Camera} camera of a flat map
 * @param {"light"|"dark"} theme
 */
export function drawContours(context, paths, camera, theme) {
  const origin = camera.project([0, 0]);
  const scale = 1 / camera.unit;
  context.save();
  context.translate(origin.x, origin.y);
  context.scale(scale, -scale);
  context.lineJoin = "round";
  context.lineCap = "round";
  paths.forEach((path, at) => {
    context.lineWidth = (at ? 1 : 1.5) / scale;
    context.strokeStyle = css(theme === "dark" ? [235, 240, 250] : [30, 36, 50], 0.6 - 0.08 * at);
    context.stroke(path);
  });
  context.restore();
}

const WIDE = SIDE + 2 * BORDER;

function histogram(places, counted) {
  const cells = new Float32Array(WIDE * WIDE);
  for (let i = 0, at = 0; at < places.length; i++, at += 2) {
    if (places[at] === NONE_16 || !counted(i)) continue;
    const column = BORDER + Math.min(SIDE - 1, Math.floor((places[at] / STEPS) * SIDE));
    const row = BORDER + Math.min(SIDE - 1, Math.floor((places[at + 1] / STEPS) * SIDE));
    cells[row * WIDE + column] += 1;
  }
  return cells;
}

/** Three running means each way: nearly a normal curve, whatever its width. */
function smoothed(cells, reach) {
  for (let round = 0; round < 3; round++) {
    for (const [along, across] of [
      [1, WIDE],
      [WIDE, 1],
    ]) {
      const result = new Float32Array(cells.length);
      for (let line = 0; line < WIDE; line++) {
        let sum = 0;
        for (let at = -reach; at < WIDE; at++) {
          const enters = at + reach;
          const leaves = at - reach - 1;
          if (enters < WIDE) sum += cells[line * across + enters * along];
          if (leaves >= 0) sum -= cells[line * across + leaves * along];
          if (at >= 0) result[line * across + at * along] = sum / (2 * reach + 1);
        }
      }
      cells = result;
    }
  }
  return cells;
}

/** The densities above which the given shares of the documents lie. */
function levels(density) {
  const sorted = Float32Array.from(density).sort().reverse();
  const total = sorted.reduce((sum, value) => sum + value, 0);
  const thresholds = [];
  let sum = 0;
  for (const value of sorted) {
    if (thresholds.length === SHARES.length || value <= 0 || total === 0) break;
    sum += value;
    while (thresholds.length < SHARES.length && sum >= SHARES[thresholds.length] * total)
      thresholds.push(value);
  }
  return thresholds;
}

/** Marching squares: where the density crosses the level, with straight pieces. */
function outline(density, level) {
  const path = new Path2D();
  const place = (index) => (index + 0.5 - BORDER) / SIDE;
  const cross = (a, b) => (level - a) / (b - a);
  for (let row = 0; row + 1 < WIDE; row++) {
    for (let column = 0; column + 1 < WIDE; column++) {
      const at = row * WIDE + column;
      const [a, b] = [density[at], density[at + 1]];
      const [d, c] = [density[at + WIDE], density[at + WIDE + 1]];
      const ends = [];
      if (a >= level !== b >= level) ends.push([column + cross(a, b), row]);
      if (b >= level !== c >= level) ends.push([column + 1, row + cross(b, c)]);
      if (d >= level !== c >= level) ends.push([column + cross(d, c), row + 1]);
      if (a >= level !== d >= level) ends.push([column, row + cross(a, d)]);
      // Four ends are a saddle: which two belong together does not show at this size.
      for (let end = 0; end + 1 < ends.length; end += 2) {
        path.moveTo(place(ends[end][0]), place(ends[end][1]));
        path.lineTo(place(ends[end + 1][0]), place(ends[end + 1][1]));
      }
    }
  }
  return path;
}
