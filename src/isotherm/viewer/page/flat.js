/** The points without a graphics card: a plain canvas, for browsers that have no WebGL2. */

/** More points than this are too slow so; the first ones of the order stand for all. */
export const MOST = 50000;

/** Draws like Scene, and is asked like it. */
export class Flat {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Uint32Array} order document of every position
   */
  constructor(canvas, order) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.order = order.subarray(0, MOST);
    this.masked = false;
    this.lit = new Uint32Array(0);
    this.litCount = 0;
    this.sprites = new Map();
  }

  setPlaces(from, to, dimensions) {
    Object.assign(this, { from, to, dimensions });
  }

  setStyles(codes, sizes, mask) {
    Object.assign(this, { codes, sizes, mask, masked: mask !== null });
    const lit = [];
    if (mask) this.order.forEach((i, at) => mask[i] && lit.push(at));
    this.lit = Uint32Array.from(lit);
    this.litCount = lit.length;
  }

  setPalette(bytes) {
    this.palette = bytes;
    this.sprites.clear();
  }

  begin(look) {
    this.look = look;
    this.sprites.clear();
    this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
  }

  draw(some, lit) {
    for (let at = some[0]; at < some[1]; at++) {
      const i = this.order[at];
      if (!this.masked || !this.mask[i]) this.point(i, this.masked ? 1 : 0);
    }
    for (let at = lit[0]; at < lit[1]; at++) this.point(this.order[this.lit[at]], 2);
  }

  point(i, pass) {
    const { look, dimensions: L, palette } = this;
    const code = this.codes[i];
    const start = i * L;
    if (!palette[4 * code + 3] || this.to[start] === 65535 || this.from[start] === 65535) return;
    const place = [0, 0, 0];
    for (let d = 0; d < L; d++) {
      const from = this.from[start + d];
      place[d] = (from + (this.to[start + d] - from) * look.mixing) / 65534;
    }
    const m = look.matrix;
    const along = (row) => m[row] * place[0] + m[row + 4] * place[1] + m[row + 8] * place[2] + m[row + 12];
    const w = along(3);
    if (w <= 0) return;
    const grown = this.sizes ? 0.55 + 2 * Math.sqrt(this.sizes[i] / 255) : 1;
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

  mark() {}

  busy() {
    return false;
  }
}
