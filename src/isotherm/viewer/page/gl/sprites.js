/** Pieces of text on the graphics card: written once on a small canvas, then only moved. */

import { createProgram } from "./program.js";
import { inscribe } from "./text.js";
import { SPRITE_FRAGMENT, SPRITE_VERTEX } from "./shaders.js";

const MOST = 150; // textures that are kept

/** Draws texts over the points. A canvas for them above the map would cost more than the points. */
export class Sprites {
  /** @param {WebGL2RenderingContext} gl */
  constructor(gl) {
    this.gl = gl;
    const { program, uniforms } = createProgram(gl, SPRITE_VERTEX, SPRITE_FRAGMENT);
    this.program = program;
    this.uniforms = uniforms;
    this.vao = gl.createVertexArray();
    this.kept = new Map();
  }

  /**
   * @param {import("./text.js").Writing[]} writings
   * @param {number} ratio device pixels per CSS pixel
   */
  draw(writings, ratio) {
    if (!writings.length) return;
    const { gl, uniforms } = this;
    gl.useProgram(this.program);
    gl.bindVertexArray(this.vao);
    gl.disable(gl.DEPTH_TEST);
    for (const writing of writings) {
      const { texture, width, height } = this.sprite(writing, ratio);
      const left = Math.round(writing.x * ratio - width / 2);
      const top = Math.round(writing.y * ratio - height / 2);
      const [w, h] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.uniform4f(
        uniforms.box,
        (2 * left) / w - 1,
        1 - (2 * top) / h,
        (2 * width) / w,
        (2 * height) / h,
      );
      gl.uniform1f(uniforms.opacity, writing.opacity);
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    }
    gl.enable(gl.DEPTH_TEST);
  }

  sprite(writing, ratio) {
    const key = [writing.text, writing.size, writing.ink, writing.halo, ratio].join("\n");
    let sprite = this.kept.get(key);
    if (sprite) {
      this.kept.delete(key); // set again below, as the youngest
    } else {
      sprite = this.write(writing, ratio);
    }
    this.kept.set(key, sprite);
    for (const [old, { texture }] of this.kept) {
      if (this.kept.size <= MOST) break;
      this.gl.deleteTexture(texture);
      this.kept.delete(old);
    }
    return sprite;
  }

  write(writing, ratio) {
    const { gl } = this;
    const canvas = document.createElement("canvas");
    const margin = 5;
    canvas.width = Math.ceil((writing.width + 2 * margin) * ratio);
    canvas.height = Math.ceil((writing.size * 1.4 + 2 * margin) * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    inscribe(context, writing, canvas.width / ratio / 2, canvas.height / ratio / 2);
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, true);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, canvas);
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
      gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    }
    for (const wrap of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) {
      gl.texParameteri(gl.TEXTURE_2D, wrap, gl.CLAMP_TO_EDGE);
    }
    return { texture, width: canvas.width, height: canvas.height };
  }
}
