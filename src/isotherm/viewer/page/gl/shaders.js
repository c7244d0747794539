/** What the graphics card does with a point. */

import { STEPS } from "../data/format.js";

/** The size of points that are not highlighted, as a share of that of others. */
export const DIMMED = 0.85;

/** One vertex is one document; places of two stages are mixed on the card. */
export const POINT_VERTEX = `#version 300 es
precision highp float;
precision highp int;
layout(location = 0) in vec4 from;
layout(location = 1) in vec4 to;
layout(location = 2) in uint code;
layout(location = 3) in vec2 style;       // size 0..1; highlighted 0 or 1

uniform mat4 matrix;
uniform float mixing;
uniform float size;                       // pixels, at the distance of what is looked at
uniform float largest;
uniform float eye;                        // how far it is; 0: flat
uniform float depth;                      // half of how deep the cloud is
uniform float fog;
uniform float sized;
uniform int pass;                         // 0: all; 1: not highlighted; 2: highlighted
uniform vec3 background;
uniform float opacity;
uniform float dimming;                    // 0..1 how far those that are not highlighted step back
uniform highp sampler2D palette;

flat out vec4 color;
flat out float radius;

void main() {
  const float full = 65535.0 / ${STEPS}.0;  // the card has 16 bits as 0..1
  vec4 hue = texelFetch(palette, ivec2(int(code & 255u), int(code >> 8)), 0);
  bool highlighted = style.y > 0.5;
  bool gone = hue.a < 0.5 || max(from.x, to.x) > 0.99999 || (pass == 1 && highlighted);
  vec4 place = matrix * vec4(mix(from.xyz, to.xyz, mixing) * full, 1.0);
  gl_Position = gone ? vec4(2.0, 2.0, 2.0, 1.0) : place;

  float grown = mix(1.0, 0.55 + 2.0 * sqrt(style.x), sized);
  float near = eye > 0.0 ? eye / max(place.w, 0.01) : 1.0;
  float pixels = clamp(size * near * grown * (pass == 1 ? ${DIMMED} : 1.0), 1.0, largest);
  gl_PointSize = pixels + 1.0;
  radius = pixels;

  float far = eye > 0.0 ? smoothstep(-1.0, 1.0, (place.w - eye) / depth) : 0.0;
  vec3 tint = mix(hue.rgb, background, far * fog);
  float alpha = opacity;
  if (pass == 1) {
    float grey = dot(tint, vec3(0.299, 0.587, 0.114));
    tint = mix(mix(tint, vec3(grey), 0.6), background, dimming);
    alpha *= eye > 0.0 ? 1.0 : 0.6;
  }
  if (pass == 2) alpha = max(alpha, 0.92);
  color = vec4(tint, alpha);
}
`;

/** A disc with a soft edge and, when there is room for it, a rim a little darker. */
export const POINT_FRAGMENT = `#version 300 es
precision mediump float;
flat in vec4 color;
flat in float radius;
out vec4 pixel;

void main() {
  float alpha = color.a;
  vec3 tint = color.rgb;
  if (radius > 2.2) {
    float away = length(gl_PointCoord - 0.5) * 2.0 * (radius + 1.0) - radius;
    float inside = clamp(0.5 - 0.5 * away, 0.0, 1.0);
    if (inside < 0.12) discard;
    alpha *= inside;
    float rim = clamp(1.0 + away / radius, 0.0, 1.0);
    tint *= 1.0 - 0.22 * rim * rim * step(3.5, radius);
  }
  pixel = vec4(tint * alpha, alpha);
}
`;

/** A rectangle of the screen, without any buffer. */
export const SPRITE_VERTEX = `#version 300 es
precision highp float;
uniform vec4 box;                         // left, top, width, height in clip space
out vec2 at;

void main() {
  at = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  gl_Position = vec4(box.x + at.x * box.z, box.y - at.y * box.w, 0.0, 1.0);
}
`;

/** The picture on it. */
export const SPRITE_FRAGMENT = `#version 300 es
precision mediump float;
in vec2 at;
uniform sampler2D picture;
uniform float opacity;
out vec4 pixel;

void main() {
  pixel = texture(picture, at) * opacity;
}
`;

/** Straight lines in the map. */
export const LINE_VERTEX = `#version 300 es
precision highp float;
layout(location = 0) in vec3 place;
uniform mat4 matrix;

void main() {
  gl_Position = matrix * vec4(place, 1.0);
}
`;

/** All of one color. */
export const LINE_FRAGMENT = `#version 300 es
precision mediump float;
uniform vec4 color;
out vec4 pixel;

void main() {
  pixel = vec4(color.rgb * color.a, color.a);
}
`;

/**
 * How much larger a point is by its size; as in the shader.
 * @param {number} size 0..255
 * @returns {number}
 */
export function grownBy(size) {
  return 0.55 + 2 * Math.sqrt(size / 255);
}
