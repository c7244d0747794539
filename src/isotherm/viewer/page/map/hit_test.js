/**
 * Which point is where on the screen, as it is drawn.
 *
 * All points are projected once per view and sorted into cells of the window; then a question looks
 * at a few cells only. It needs nothing from the graphics card: an image of ids would take a whole
 * frame of all points, long where the card is a program.
 */

import { NONE_16, STEPS } from "../data/format.js";
import { DIMMED, grownBy } from "../gl/shaders.js";

const CELL = 16; // CSS pixels
const OUTSIDE = 4294967295;

/** Finds points of a view by place, and places by point. */
export class HitTest {
  /** @param {import("./view.js").View} view */
  constructor(view) {
    this.view = view;
    this.screen = new ScreenPoints(view.n);
    this.positions = null;
  }

  /**
   * Where a document is.
   * @param {number} i
   * @returns {{x: number, y: number, w: number, visible: boolean}} CSS pixels; w: how far away
   */
  project(i) {
    const { view } = this;
    const { from, to, mixing } = view.places;
    const { camera, dimensions } = view;
    const start = i * dimensions;
    const has = i >= 0 && i < view.n && from[start] !== NONE_16 && to[start] !== NONE_16;
    if (!has) return { x: NaN, y: NaN, w: NaN, visible: false };
    const place = Array.from({ length: dimensions }, (_, d) => {
      const begun = from[start + d];
      return (begun + (to[start + d] - begun) * mixing) / STEPS;
    });
    const at = camera.project(place);
    const inside = at.x >= 0 && at.y >= 0 && at.x < camera.width && at.y < camera.height;
    return { ...at, visible: at.w > camera.near && inside && view.isShown(i) };
  }

  /** The place of a ring around a document, or null where it is not seen. */
  ringAt(i) {
    if (i < 0) return null;
    const at = this.project(i);
    return at.visible ? { ...at, radius: this.radius(i, at.w) } : null;
  }

  /**
   * The document at a pixel.
   * @param {number} x
   * @param {number} y
   * @param {number} reach CSS pixels that it may be away
   * @returns {number} -1 for none
   */
  pick(x, y, reach) {
    if (!this.view.look) return -1;
    const radius = (i) => this.radius(i, this.screen.ws[i]);
    const rank = (i) => this.rank(i);
    const how = { reach, largest: this.largestRadius(), radius, rank };
    return this.current().at(x, y, how);
  }

  /** Documents inside a polygon. @param {[number, number][]} path @returns {Uint32Array} */
  inside(path) {
    return this.current().inside(path, (i) => this.view.isShown(i));
  }

  /** All documents where they are now. */
  current() {
    this.screen.update(this.view.camera, this.view.places);
    return this.screen;
  }

  /** The radius of a point in CSS pixels, as the card draws it; 0 for one that is hidden. */
  radius(i, w) {
    const { view } = this;
    if (!view.isShown(i)) return 0;
    const { size, eye } = view.look;
    const dim = view.mask && !view.mask[i] ? DIMMED : 1;
    const grown = view.sizes ? grownBy(view.sizes[i]) : 1;
    return this.half(size * (eye ? eye / w : 1) * grown * dim);
  }

  /** No point is larger than this. */
  largestRadius() {
    const { look, camera, sizes } = this.view;
    return this.half(
      look.size * (look.eye ? look.eye / camera.near : 1) * (sizes ? grownBy(255) : 1),
    );
  }

  half(pixels) {
    const { look, layers } = this.view;
    return Math.min(look.largest, Math.max(1, pixels)) / layers.ratio / 2;
  }

  /** What is on top has the larger number. */
  rank(i) {
    const { mask, camera, painter } = this.view;
    const lead = mask && mask[i] ? 1e9 : 0;
    if (camera.deep) return lead - this.screen.ws[i];
    this.positions ??= inverse(painter.order);
    return lead + this.positions[i];
  }
}

/** Where all points are on the screen. */
export class ScreenPoints {
  /** @param {number} n documents */
  constructor(n) {
    this.n = n;
    this.xs = new Float32Array(n);
    this.ys = new Float32Array(n);
    this.ws = new Float32Array(n); // distance from the eye
    this.cells = new Uint32Array(n);
    this.sorted = new Uint32Array(n);
    this.starts = new Uint32Array(2);
    this.columns = 1;
    this.rows = 1;
    this.key = [];
  }

  /**
   * Brings the places on the screen up to date; costs nothing when nothing has changed.
   * @param {import("./camera.js").Camera} camera
   * @param {{from: Uint16Array, to: Uint16Array, mixing: number}} places
   */
  update(camera, { from, to, mixing }) {
    const key = [camera, camera.version, from, to, mixing];
    if (key.every((value, at) => value === this.key[at])) return;
    this.key = key;
    this.project(camera, from, to, mixing);
    this.sort();
  }

  project(camera, from, to, mixing) {
    const { n, xs, ys, ws, cells } = this;
    const { matrix: m, width, height, dimensions, near } = camera;
    const columns = Math.ceil(width / CELL);
    const rows = Math.ceil(height / CELL);
    this.columns = columns;
    this.rows = rows;
    const still = from === to;
    const scale = 1 / STEPS;
    let z = 0;
    for (let i = 0, at = 0; i < n; i++, at += dimensions) {
      cells[i] = OUTSIDE;
      if (to[at] === NONE_16 || from[at] === NONE_16) {
        xs[i] = NaN;
        continue;
      }
      let x = to[at];
      let y = to[at + 1];
      if (dimensions > 2) z = to[at + 2];
      if (!still) {
        x = from[at] + (x - from[at]) * mixing;
        y = from[at + 1] + (y - from[at + 1]) * mixing;
        if (dimensions > 2) z = from[at + 2] + (z - from[at + 2]) * mixing;
      }
      x *= scale;
      y *= scale;
      const depth = z * scale;
      const w = m[3] * x + m[7] * y + m[11] * depth + m[15];
      const px = (0.5 + (0.5 * (m[0] * x + m[4] * y + m[8] * depth + m[12])) / w) * width;
      const py = (0.5 - (0.5 * (m[1] * x + m[5] * y + m[9] * depth + m[13])) / w) * height;
      xs[i] = w > near ? px : NaN;
      ys[i] = py;
      ws[i] = w;
      if (w > near && px >= 0 && py >= 0 && px < width && py < height) {
        cells[i] = Math.floor(py / CELL) * columns + Math.floor(px / CELL);
      }
    }
  }

  sort() {
    const { n, cells, sorted } = this;
    const starts = new Uint32Array(this.columns * this.rows + 1);
    for (let i = 0; i < n; i++) if (cells[i] !== OUTSIDE) starts[cells[i] + 1] += 1;
    for (let cell = 1; cell < starts.length; cell++) starts[cell] += starts[cell - 1];
    const next = starts.slice();
    for (let i = 0; i < n; i++) if (cells[i] !== OUTSIDE) sorted[next[cells[i]]++] = i;
    this.starts = starts;
  }

  /**
   * The point at a pixel: of those that cover it the one on top, else the nearest.
   * @param {number} x CSS pixels
   * @param {number} y
   * @param {object} how
   * @param {number} how.reach how far away the nearest may be
   * @param {number} how.largest radius that a point may have
   * @param {(i: number) => number} how.radius of a point as drawn; 0 where it is not drawn
   * @param {(i: number) => number} how.rank larger is on top
   * @returns {number} -1 for none
   */
  at(x, y, { reach, largest, radius, rank }) {
    let best = -1;
    let bestGap = Infinity;
    let bestRank = -Infinity;
    const farthest = reach + largest;
    const first = (value) => Math.max(0, Math.floor((value - farthest) / CELL));
    const last = (value, most) => Math.min(most - 1, Math.floor((value + farthest) / CELL));
    for (let row = first(y); row <= last(y, this.rows); row++) {
      for (let column = first(x); column <= last(x, this.columns); column++) {
        const cell = row * this.columns + column;
        for (let at = this.starts[cell]; at < this.starts[cell + 1]; at++) {
          const i = this.sorted[at];
          const away = Math.hypot(this.xs[i] - x, this.ys[i] - y);
          if (away > farthest) continue;
          const size = radius(i);
          if (!size) continue;
          const gap = Math.max(0, away - size); // 0: the pixel is inside the disc
          if (gap > reach || gap > bestGap) continue;
          const order = rank(i);
          if (gap === bestGap && order <= bestRank) continue;
          best = i;
          bestGap = gap;
          bestRank = order;
        }
      }
    }
    return best;
  }

  /**
   * The documents inside a polygon on the screen.
   * @param {[number, number][]} polygon CSS pixels
   * @param {(i: number) => boolean} shown
   * @returns {Uint32Array}
   */
  inside(polygon, shown) {
    const px = polygon.map((corner) => corner[0]);
    const py = polygon.map((corner) => corner[1]);
    const [left, right] = [Math.min(...px), Math.max(...px)];
    const [top, bottom] = [Math.min(...py), Math.max(...py)];
    const { xs, ys, n } = this;
    const documents = [];
    for (let i = 0; i < n; i++) {
      const x = xs[i];
      const y = ys[i];
      if (!(x >= left && x <= right && y >= top && y <= bottom)) continue;
      if (shown(i) && within(x, y, px, py)) documents.push(i);
    }
    return Uint32Array.from(documents);
  }
}

function inverse(order) {
  const positions = new Uint32Array(order.length);
  for (let at = 0; at < order.length; at++) positions[order[at]] = at;
  return positions;
}

/** Whether a point is in a polygon: a ray from it crosses an odd number of sides. */
function within(x, y, px, py) {
  let odd = false;
  for (let at = 0, before = px.length - 1; at < px.length; before = at++) {
    const crosses = py[at] > y !== py[before] > y;
    if (crosses && x < ((px[before] - px[at]) * (y - py[at])) / (py[before] - py[at]) + px[at]) {
      odd = !odd;
    }
  }
  return odd;
}
