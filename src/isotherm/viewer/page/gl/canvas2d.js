/** The points without a graphics card: a plain canvas, for browsers that have no WebGL2. */

import { NONE_16, STEPS } from "../data/format.js";
import { inscribe } from "./text.js";
import { grownBy } from "./shaders.js";

/** More points than this are too slow so; the first ones of the order stand for all. */
export const MOST = 50000;

/** Draws like Scene, and is asked like it. */
export class Canvas2d {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Uint32Array} order document of every position
   */
  constructor(canvas, order) {
    this.screen = canvas;
    this.canvas = document.createElement("canvas"); // points, without the texts over them
    this.context = this.canvas.getContext("2d");
    this.order = order.subarray(0, MOST);
    this.masked = false;
    this.highlights = new Uint32Array(0);
    this.highlightCount = 0;
    this.sprites = new Map();
  }

  setPlaces(from, to, dimensions) {
    this.from = from;
    this.to = to;
    this.dimensions = dimensions;
  }

  setStyles(codes, sizes, mask) {
    this.codes = codes;
    this.sizes = sizes;
    this.mask = mask;
    this.masked = mask !== null;
    const highlights = [];
    if (mask) this.order.forEach((i, at) => mask[i] && highlights.push(at));
    this.highlights = Uint32Array.from(highlights);
    this.highlightCount = highlights.length;
  }

  setPalette(bytes) {
    this.palette = bytes;
    this.sprites.clear();
  }

  begin(look) {
    this.look = look;
    this.sprites.clear();
    this.canvas.width = this.screen.width; // which clears it, too
    this.canvas.height = this.screen.height;
  }

  draw(some, highlights) {
    for (let at = some[0]; at < some[1]; at++) {
      const i = this.order[at];
      if (!this.masked || !this.mask[i]) this.point(i, this.masked ? 1 : 0);
    }
    for (let at = highlights[0]; at < highlights[1]; at++)
      this.point(this.order[this.highlights[at]], 2);
  }

  point(i, pass) {
    const { look, dimensions: L, palette } = this;
    const code = this.codes[i];
    const start = i * L;
    if (!palette[4 * code + 3] || this.to[start] === NONE_16 || this.from[start] === NONE_16)
      return;
    const place = [0, 0, 0];
    for (let d = 0; d < L; d++) {
      const from = this.from[start + d];
      place[d] = (from + (this.to[start + d] - from) * look.mixing) / STEPS;
    }
    const m = look.matrix;
    const along = (row) =>
      m[row] * place[0] + m[row + 4] * place[1] + m[row + 8] * place[2] + m[row + 12];
    const w = along(3);
    if (w <= 0) return;
    const grown = this.sizes ? grownBy(this.sizes[i]) : 1;
    const near = look.eye ? look.eye / w : 1;
    const size = Math.max(1, Math.min(look.largest, Math.round(look.size * near * grown)));
    const x = (0.5 + (0.5 * along(0)) / w) * this.canvas.width;
    const y = (0.5 - (0.5 * along(1)) / w) * this.canvas.height;
    this.context.drawImage(this.sprite(code, size, pass), x - size / 2, y - size / 2);
  }

  /** A disc, drawn once and then copied. */
  sprite(code, size, pass) {
    const key = (code * 64 + size) * 3 + pass;
    let disc = this.sprites.get(key);
    if (disc) return disc;
    disc = document.createElement("canvas");
    disc.width = size + 1;
    disc.height = size + 1;
    const context = disc.getContext("2d");
    const [r, g, b] = this.palette.subarray(4 * code, 4 * code + 3);
    const alpha = pass === 1 ? 0.15 : pass === 2 ? 1 : this.look.opacity;
    context.fillStyle = `rgba(${r}, ${g}, ${b}, ${alpha})`;
    context.beginPath();
    context.arc(size / 2, size / 2, size / 2, 0, 2 * Math.PI);
    context.fill();
    this.sprites.set(key, disc);
    return disc;
  }

  show(writings, ratio) {
    const context = this.screen.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.screen.width, this.screen.height);
    context.globalAlpha = 1;
    context.drawImage(this.canvas, 0, 0);
    context.scale(ratio, ratio);
    for (const writing of writings) {
      context.globalAlpha = writing.opacity;
      inscribe(context, writing, writing.x, writing.y);
    }
  }

  mark() {}

  busy() {
    return false;
  }
}
