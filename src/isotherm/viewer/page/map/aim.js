/** Which point is where on the screen, as it is drawn. */

import { Picker } from "./picking.js";
import { NONE_16, STEPS } from "../data/format.js";
import { DIMMED, grownBy } from "../gl/shaders.js";

/** Finds points of a view by place, and places by point. */
export class Aim {
  /** @param {import("./view.js").View} view */
  constructor(view) {
    this.view = view;
    this.picker = new Picker(view.n);
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
    const radius = (i) => this.radius(i, this.picker.ws[i]);
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
    this.picker.update(this.view.camera, this.view.places);
    return this.picker;
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
    const lit = mask && mask[i] ? 1e9 : 0;
    if (camera.deep) return lit - this.picker.ws[i];
    this.positions ??= inverse(painter.order);
    return lit + this.positions[i];
  }
}

function inverse(order) {
  const positions = new Uint32Array(order.length);
  for (let at = 0; at < order.length; at++) positions[order[at]] = at;
  return positions;
}
