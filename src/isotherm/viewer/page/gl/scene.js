/** The points on the graphics card: buffers, and drawing any part of them. */

import { createProgram, Sheet } from "./program.js";
import { Lines } from "./lines.js";
import { POINT_FRAGMENT, POINT_VERTEX } from "./shaders.js";
import { Sprites } from "./sprites.js";

const KEPT = 4; // buffers of places that stay on the card: two stages, and where one came from

/**
 * @typedef {object} Look what the points look like
 * @property {Float32Array} matrix from the box of the map to the clip space
 * @property {number} mixing 0..1 between the two stages
 * @property {number} size pixels
 * @property {number} largest pixels
 * @property {number} eye how far it is; 0 for a flat map
 * @property {number} depth half of how deep the cloud is
 * @property {number} fog 0..1 how much of the color is lost far away
 * @property {number} opacity
 * @property {number} dimming 0..1 how far those that are not highlighted step back
 * @property {[number, number, number]} background 0..255
 * @property {Float32Array|null} frame ends of lines behind the points
 * @property {[number, number, number, number]} frameColor 0..1
 */

/** A WebGL2 canvas with points. */
export class Scene {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Uint32Array} order document of every position in the buffers
   */
  constructor(canvas, order) {
    const gl = canvas.getContext("webgl2", {
      antialias: false,
      powerPreference: "high-performance",
    });
    if (!gl) throw new Error("WebGL2 is missing");
    this.canvas = canvas;
    this.gl = gl;
    this.order = order;
    const { program, uniforms } = createProgram(gl, POINT_VERTEX, POINT_FRAGMENT);
    this.program = program;
    this.uniforms = uniforms;
    this.sheet = new Sheet(gl); // a still picture is completed over several frames
    this.lines = new Lines(gl);
    this.sprites = new Sprites(gl);
    this.places = new Map();
    this.vao = gl.createVertexArray();
    this.styles = gl.createBuffer();
    this.highlightIndex = gl.createBuffer();
    this.highlightCount = 0;
    this.masked = false;
    this.sized = false;
    this.palette = gl.createTexture();
    this.fence = null;
    this.direct = false;
    this.setUp();
  }

  setUp() {
    const { gl } = this;
    gl.bindVertexArray(this.vao);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.styles);
    gl.enableVertexAttribArray(2);
    gl.vertexAttribIPointer(2, 1, gl.UNSIGNED_SHORT, 4, 0);
    gl.enableVertexAttribArray(3);
    gl.vertexAttribPointer(3, 2, gl.UNSIGNED_BYTE, true, 4, 2);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.highlightIndex);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA); // colors come premultiplied
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.clearColor(0, 0, 0, 0);
    this.maxPointSize = gl.getParameter(gl.ALIASED_POINT_SIZE_RANGE)[1];
  }

  /**
   * The places to mix; equal arrays when nothing moves.
   * @param {Uint16Array} from (I, L)
   * @param {Uint16Array} to (I, L)
   * @param {number} dimensions
   */
  setPlaces(from, to, dimensions) {
    const { gl } = this;
    gl.bindVertexArray(this.vao);
    [from, to].forEach((places, location) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.placeBuffer(places, dimensions));
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, 4, gl.UNSIGNED_SHORT, true, 8, 0);
    });
  }

  placeBuffer(places, dimensions) {
    const { gl, order } = this;
    let buffer = this.places.get(places);
    if (buffer) {
      this.places.delete(places); // set again below, as the youngest
    } else {
      buffer = gl.createBuffer();
      const packed = new Uint16Array(order.length * 4);
      for (let at = 0; at < order.length; at++) {
        const start = order[at] * dimensions;
        packed[4 * at] = places[start];
        packed[4 * at + 1] = places[start + 1];
        packed[4 * at + 2] = dimensions > 2 ? places[start + 2] : 0;
      }
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, packed, gl.STATIC_DRAW);
    }
    this.places.set(places, buffer);
    for (const [old, oldBuffer] of this.places) {
      if (this.places.size <= KEPT) break;
      gl.deleteBuffer(oldBuffer);
      this.places.delete(old);
    }
    return buffer;
  }

  /**
   * Codes and sizes of all documents, and which are highlighted.
   * @param {Uint16Array} codes index in the palette
   * @param {Uint8Array|null} sizes 0..255
   * @param {Uint8Array|null} mask null: all are highlighted
   */
  setStyles(codes, sizes, mask) {
    const { gl, order } = this;
    const packed = new Uint32Array(order.length); // code, size, highlighted: little-endian
    const highlights = mask ? new Uint32Array(order.length) : null;
    let count = 0;
    for (let at = 0; at < order.length; at++) {
      const i = order[at];
      let word = codes[i];
      if (sizes) word |= sizes[i] << 16;
      if (mask && mask[i]) {
        word |= 0xff000000;
        highlights[count++] = at;
      }
      packed[at] = word;
    }
    gl.bindVertexArray(this.vao);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.styles);
    gl.bufferData(gl.ARRAY_BUFFER, packed, gl.DYNAMIC_DRAW);
    if (highlights)
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, highlights.subarray(0, count), gl.DYNAMIC_DRAW);
    this.masked = mask !== null;
    this.highlightCount = count;
    this.sized = sizes !== null;
  }

  /**
   * @param {Uint8Array} bytes RGBA of every code; alpha 0 hides it; a multiple of 256 colors
   */
  setPalette(bytes) {
    const { gl } = this;
    gl.bindTexture(gl.TEXTURE_2D, this.palette);
    gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
    const rows = bytes.length / 1024;
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, rows, 0, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
      gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    }
  }

  /**
   * An empty picture.
   * @param {Look} look what its points look like
   * @param {boolean} direct on the screen at once; else on a sheet that more can be added to later
   */
  begin(look, direct) {
    const { gl } = this;
    this.look = look;
    this.direct = direct;
    this.target();
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    if (look.frame) this.lines.draw(look.frame, look.matrix, look.frameColor);
  }

  target() {
    const { gl } = this;
    if (!this.direct) {
      this.sheet.use();
      return;
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
  }

  prepare() {
    const { gl, uniforms, look } = this;
    this.target();
    gl.useProgram(this.program);
    gl.bindVertexArray(this.vao);
    gl.bindTexture(gl.TEXTURE_2D, this.palette);
    gl.uniformMatrix4fv(uniforms.matrix, false, look.matrix);
    for (const name of ["mixing", "size", "eye", "depth", "fog", "opacity", "dimming"]) {
      gl.uniform1f(uniforms[name], look[name]);
    }
    gl.uniform1f(uniforms.largest, Math.min(look.largest, this.maxPointSize));
    gl.uniform1f(uniforms.sized, this.sized ? 1 : 0);
    gl.uniform3fv(
      uniforms.background,
      look.background.map((c) => c / 255),
    );
    gl.uniform1i(uniforms.palette, 0);
  }

  /**
   * Adds points to the picture. The highlighted ones have the nearer half of the depth to
   * themselves, so they stay on top whatever is added later.
   * @param {[number, number]} some positions from, to (without)
   * @param {[number, number]} highlights the same among the highlighted
   */
  draw(some, highlights) {
    const { gl, uniforms } = this;
    this.prepare();
    gl.uniform1i(uniforms.pass, this.masked ? 1 : 0);
    gl.depthRange(this.masked ? 0.5 : 0, 1);
    if (some[1] > some[0]) gl.drawArrays(gl.POINTS, some[0], some[1] - some[0]);
    if (!this.masked || highlights[1] <= highlights[0]) return;
    gl.uniform1i(uniforms.pass, 2);
    gl.depthRange(0, 0.5);
    gl.drawElements(gl.POINTS, highlights[1] - highlights[0], gl.UNSIGNED_INT, 4 * highlights[0]);
  }

  /**
   * Brings the picture to the screen, with texts over it.
   * @param {import("./text.js").Writing[]} writings
   * @param {number} ratio device pixels per CSS pixel
   */
  show(writings, ratio) {
    if (!this.direct) this.sheet.show();
    this.sprites.draw(writings, ratio);
  }

  /** Marks the end of a frame, to hear when the card is through with it. */
  mark() {
    this.fence = this.gl.fenceSync(this.gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    this.gl.flush();
  }

  /** @returns {boolean} whether the marked frame is still being drawn */
  busy() {
    if (!this.fence) return false;
    const { gl } = this;
    if (gl.getSyncParameter(this.fence, gl.SYNC_STATUS) !== gl.SIGNALED && !gl.isContextLost()) {
      return true;
    }
    gl.deleteSync(this.fence);
    this.fence = null;
    return false;
  }
}
