/** The outline that a hand draws around points. */

import { css } from "../ui/colors.js";

/**
 * Draws an outline that is not finished yet.
 * @param {CanvasRenderingContext2D} context in CSS pixels
 * @param {[number, number][]} path
 * @param {"light"|"dark"} theme
 */
export function drawOutline(context, path, theme) {
  if (path.length < 2) return;
  /** @type {import("../ui/colors.js").Rgb} */
  const color = theme === "light" ? [28, 100, 180] : [130, 190, 255];
  context.save();
  context.beginPath();
  path.forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
  context.fillStyle = css(color, 0.1);
  context.fill();
  context.strokeStyle = css(color, 0.9);
  context.lineWidth = 1.5;
  context.setLineDash([5, 4]);
  context.stroke();
  context.restore();
}

/**
 * Whether an outline is large enough to be meant.
 * @param {[number, number][]} path
 * @returns {boolean}
 */
export function isMeant(path) {
  const wide = (d) => {
    const values = path.map((corner) => corner[d]);
    return Math.max(...values) - Math.min(...values);
  };
  return path.length > 2 && Math.max(wide(0), wide(1)) >= 6;
}
