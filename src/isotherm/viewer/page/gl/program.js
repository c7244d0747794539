/** Small things that every program on the graphics card needs. */

/**
 * A program of two shaders.
 * @param {WebGL2RenderingContext} gl
 * @param {string} vertex
 * @param {string} fragment
 * @returns {{program: WebGLProgram, uniforms: Record<string, WebGLUniformLocation>}}
 */
export function createProgram(gl, vertex, fragment) {
  const program = gl.createProgram();
  const attach = (type, source) => {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  };
  attach(gl.VERTEX_SHADER, vertex);
  attach(gl.FRAGMENT_SHADER, fragment);
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
    const logs = gl.getAttachedShaders(program).map((shader) => gl.getShaderInfoLog(shader));
    throw new Error("The shaders do not work here: " + [...logs, gl.getProgramInfoLog(program)]);
  }
  const uniforms = {};
  const count = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS);
  for (let at = 0; at < count; at++) {
    const { name } = gl.getActiveUniform(program, at);
    uniforms[name] = gl.getUniformLocation(program, name);
  }
  return { program, uniforms };
}

/** A picture off the screen that points are added to over several frames. */
export class Sheet {
  /** @param {WebGL2RenderingContext} gl */
  constructor(gl) {
    this.gl = gl;
    this.frame = gl.createFramebuffer();
    this.colors = gl.createRenderbuffer();
    this.depths = gl.createRenderbuffer();
    this.width = 0;
    this.height = 0;
  }

  /** Draws on it from now on; an empty one if its size has changed. */
  use() {
    const { gl } = this;
    const { drawingBufferWidth: width, drawingBufferHeight: height } = gl;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.frame);
    gl.viewport(0, 0, width, height);
    if (width === this.width && height === this.height) return;
    this.width = width;
    this.height = height;
    const attach = (buffer, format, attachment) => {
      gl.bindRenderbuffer(gl.RENDERBUFFER, buffer);
      gl.renderbufferStorage(gl.RENDERBUFFER, format, width, height);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, attachment, gl.RENDERBUFFER, buffer);
    };
    attach(this.colors, gl.RGBA8, gl.COLOR_ATTACHMENT0);
    attach(this.depths, gl.DEPTH_COMPONENT24, gl.DEPTH_ATTACHMENT);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  }

  /** Copies it to the screen, and draws on the screen from now on. */
  show() {
    const { gl, width, height } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    // Else the browser clears a new frame at the first drawing, which is too late.
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, this.frame);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
    const { COLOR_BUFFER_BIT: colors, NEAREST: nearest } = gl;
    gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, colors, nearest);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }
}
