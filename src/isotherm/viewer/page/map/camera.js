/** How the map is looked at: pan and zoom of a flat one, orbit of a deep one. */

const FIELD = (38 * Math.PI) / 180; // of view, from top to bottom
const STEEPEST = 1.5;
const MARGIN = 1.08;
const START = { azimuth: -0.9, elevation: 0.42 }; // a little from above, no axis along the view

/**
 * @typedef {object} View everything that an animation has to move
 * @property {number[]} target what is in the middle, in coordinates 0..1 of the map
 * @property {number} span how much of the map fits the shorter side of the window at the target
 * @property {number} azimuth radians
 * @property {number} elevation radians
 */

/** A camera for one map. */
export class Camera {
  /** @param {number} dimensions 2 or 3 */
  constructor(dimensions) {
    this.dimensions = dimensions;
    this.width = 1;
    this.height = 1;
    this.inset = { left: 0, top: 0, right: 0, bottom: 0 }; // covered by panels, CSS pixels
    /** @type {View} */
    this.view = { target: new Array(dimensions).fill(0.5), span: 1, ...START };
    this.home = this.view;
    this.box = { low: [], high: [] }; // of all points
    this.radius = 0.87; // of all that there is to see
    this.near = 0; // what is nearer to the eye is not drawn
    this.matrix = new Float32Array(16);
    this.version = 0;
    this.update();
  }

  /** Whether the map is deep. */
  get deep() {
    return this.dimensions === 3;
  }

  /** How far the eye is from the target; 0 for a flat map. */
  get eye() {
    if (!this.deep) return 0;
    return (
      this.view.span / (2 * Math.tan(FIELD / 2)) / Math.min(1, this.free.width / this.free.height)
    );
  }

  /** The part of the window that nothing covers, and its middle. */
  get free() {
    const { left, top, right, bottom } = this.inset;
    const width = Math.max(1, this.width - left - right);
    const height = Math.max(1, this.height - top - bottom);
    return { width, height, x: left + width / 2, y: top + height / 2 };
  }

  /** How much larger things are than when all is in view. */
  get zoom() {
    return this.home.span / this.view.span;
  }

  /** @param {number} width CSS pixels @param {number} height @param {Camera["inset"]} [inset] */
  resize(width, height, inset = this.inset) {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
    this.inset = inset;
    this.update();
  }

  /** @param {Partial<View>} view */
  look(view) {
    this.view = { ...this.view, ...view };
    const { view: now } = this;
    now.span = Math.min(8 * this.home.span, Math.max(this.home.span / 2000, now.span));
    now.elevation = Math.min(STEEPEST, Math.max(-STEEPEST, now.elevation));
    this.update();
  }

  /**
   * The view that shows a box.
   * @param {{low: number[], high: number[]}} box
   * @param {number} [least] no closer than this
   * @returns {Partial<View>}
   */
  around({ low, high }, least = 0.02) {
    const target = low.map((value, d) => (value + high[d]) / 2);
    const sides = low.map((value, d) => high[d] - value);
    const { width, height } = this.free;
    const shorter = Math.min(width, height);
    if (!this.deep) {
      const span = Math.max((sides[0] * shorter) / width, (sides[1] * shorter) / height);
      return { target, span: Math.max(least, 1.04 * MARGIN * span) };
    }
    return { target, span: Math.max(least, Math.hypot(...sides)) };
  }

  /**
   * Takes a view as the one to come back to.
   * @param {{low: number[], high: number[]}} box of all points
   */
  settleAt(box) {
    const sides = box.low.map((value, d) => box.high[d] - value);
    this.radius = Math.max(0.01, Math.hypot(...sides) / 2);
    this.home = { ...this.view, ...START, ...this.around(box) };
    if (this.deep) this.home.span *= 1.01 * this.excess(box);
  }

  /** How much larger than the window a box is, seen from where one starts. */
  excess({ low, high }) {
    const before = this.view;
    this.view = this.home;
    this.update();
    const { free } = this;
    const sizes = Array.from({ length: 8 }, (_, bits) => {
      const { x, y } = this.project(low.map((value, d) => (bits & (1 << d) ? high[d] : value)));
      return 2 * Math.max(Math.abs(x - free.x) / free.width, Math.abs(y - free.y) / free.height);
    });
    this.view = before;
    this.update();
    return Math.max(0.3, ...sizes);
  }

  /** The directions of the window in the map: right, up and towards the eye. */
  axes() {
    const { azimuth, elevation } = this.view;
    const [ca, sa] = [Math.cos(azimuth), Math.sin(azimuth)];
    const [ce, se] = [Math.cos(elevation), Math.sin(elevation)];
    return {
      right: [-sa, ca, 0],
      up: [-ca * se, -sa * se, ce],
      back: [ca * ce, sa * ce, se],
    };
  }

  /** Map units per CSS pixel at the target. */
  get unit() {
    const { width, height } = this.free;
    return this.view.span / Math.min(width, height);
  }

  update() {
    const { matrix: m, view } = this;
    this.version += 1;
    m.fill(0);
    const [sx, sy] = [2 / (this.width * this.unit), 2 / (this.height * this.unit)];
    if (!this.deep) {
      m[0] = sx;
      m[5] = sy;
      m[12] = -view.target[0] * sx;
      m[13] = -view.target[1] * sy;
      m[15] = 1;
      this.centre();
      return;
    }
    const { right, up, back } = this.axes();
    const { eye } = this;
    const strayed = Math.hypot(...view.target.map((c, d) => c - this.home.target[d]));
    const near = Math.max(0.02 * eye, eye - 2 * this.radius - strayed);
    const far = eye + 2 * this.radius + strayed;
    this.near = near;
    const [a, b] = [(far + near) / (far - near), (-2 * far * near) / (far - near)];
    const along = (axis) => axis.reduce((sum, c, d) => sum + c * view.target[d], 0);
    for (let d = 0; d < 3; d++) {
      m[4 * d] = right[d] * sx * eye;
      m[4 * d + 1] = up[d] * sy * eye;
      m[4 * d + 2] = -back[d] * a;
      m[4 * d + 3] = -back[d];
    }
    const w = along(back) + eye;
    m[12] = -along(right) * sx * eye;
    m[13] = -along(up) * sy * eye;
    m[14] = w * a + b;
    m[15] = w;
    this.centre();
  }

  /** Moves the picture to the middle of what is free. */
  centre() {
    const { matrix: m, free } = this;
    const dx = (2 * free.x) / this.width - 1;
    const dy = 1 - (2 * free.y) / this.height;
    for (let column = 0; column < 16; column += 4) {
      m[column] += dx * m[column + 3];
      m[column + 1] += dy * m[column + 3];
    }
  }

  /**
   * Where a place is seen.
   * @param {ArrayLike<number>} place coordinates 0..1
   * @returns {{x: number, y: number, w: number}} CSS pixels; w is the distance from the eye
   */
  project(place) {
    const { matrix: m } = this;
    const [x, y, z] = [place[0], place[1], this.deep ? place[2] : 0];
    const w = m[3] * x + m[7] * y + m[11] * z + m[15];
    return {
      x: (0.5 + (0.5 * (m[0] * x + m[4] * y + m[8] * z + m[12])) / w) * this.width,
      y: (0.5 - (0.5 * (m[1] * x + m[5] * y + m[9] * z + m[13])) / w) * this.height,
      w,
    };
  }

  /** Moves the picture by CSS pixels. */
  pan(dx, dy) {
    const { unit } = this;
    const { right, up } = this.deep ? this.axes() : { right: [1, 0], up: [0, 1] };
    const target = this.view.target.map((c, d) => c + unit * (dy * up[d] - dx * right[d]));
    this.look({ target });
  }

  /** Turns a deep map by CSS pixels. */
  orbit(dx, dy) {
    const { azimuth, elevation } = this.view;
    const turn = Math.PI / Math.min(this.width, this.height, 700);
    this.look({ azimuth: azimuth - dx * turn, elevation: elevation + dy * turn });
  }

  /**
   * Zooms so that what is at a pixel stays there.
   * @param {number} factor over 1: closer
   * @param {number} [x]
   * @param {number} [y]
   */
  zoomAt(factor, x = this.free.x, y = this.free.y) {
    const before = this.view.span;
    this.look({ span: before / factor });
    const kept = before / this.view.span - 1;
    const { free } = this;
    this.pan((free.x - x) * kept, (free.y - y) * kept);
  }
}

/**
 * A view between two others; sizes change by equal factors in equal times.
 * @param {View} one
 * @param {View} other
 * @param {number} t
 * @returns {View}
 */
export function viewBetween(one, other, t) {
  const mix = (a, b) => a + (b - a) * t;
  return {
    target: one.target.map((c, d) => mix(c, other.target[d])),
    span: Math.exp(mix(Math.log(one.span), Math.log(other.span))),
    azimuth: mix(one.azimuth, other.azimuth),
    elevation: mix(one.elevation, other.elevation),
  };
}
