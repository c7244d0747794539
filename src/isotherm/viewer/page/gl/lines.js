/** Straight lines on the graphics card, behind the points. */

import { createProgram } from "./program.js";
import { LINE_FRAGMENT, LINE_VERTEX } from "./shaders.js";

/** A few lines that change with every view. */
export class Lines {
  /** @param {WebGL2RenderingContext} gl */
  constructor(gl) {
    this.gl = gl;
    const { program, uniforms } = createProgram(gl, LINE_VERTEX, LINE_FRAGMENT);
    this.program = program;
    this.uniforms = uniforms;
    this.vao = gl.createVertexArray();
    gl.bindVertexArray(this.vao);
    this.buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
  }

  /**
   * @param {Float32Array} ends two places (x, y, z) of every line, in coordinates 0..1 of the map
   * @param {Float32Array} matrix
   * @param {[number, number, number, number]} color 0..1
   */
  draw(ends, matrix, color) {
    const { gl, uniforms } = this;
    gl.useProgram(this.program);
    gl.bindVertexArray(this.vao);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, ends, gl.STREAM_DRAW);
    gl.uniformMatrix4fv(uniforms.matrix, false, matrix);
    gl.uniform4fv(uniforms.color, color);
    gl.disable(gl.DEPTH_TEST);
    gl.drawArrays(gl.LINES, 0, ends.length / 3);
    gl.enable(gl.DEPTH_TEST);
  }
}
