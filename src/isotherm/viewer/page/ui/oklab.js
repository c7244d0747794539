/** Colors by how the eye takes them: OKLab, where equal steps look equal. */

/** @typedef {[number, number, number]} Triple */

const TO_CONE = [
  [0.4122214708, 0.5363325363, 0.0514459929],
  [0.2119034982, 0.6806995451, 0.1073969566],
  [0.0883024619, 0.2817188376, 0.6299787005],
];
const CONE_TO_LAB = [
  [0.2104542553, 0.793617785, -0.0040720468],
  [1.9779984951, -2.428592205, 0.4505937099],
  [0.0259040371, 0.7827717662, -0.808675766],
];
const LAB_TO_CONE = [
  [1, 0.3963377774, 0.2158037573],
  [1, -0.1055613458, -0.0638541728],
  [1, -0.0894841775, -1.291485548],
];
const CONE_TO_LINEAR = [
  [4.0767416621, -3.3077115913, 0.2309699292],
  [-1.2684380046, 2.6097574011, -0.3413193965],
  [-0.0041960863, -0.7034186147, 1.707614701],
];

const times = (matrix, v) => matrix.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);
const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const gamma = (c) => (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055);

/**
 * Lightness, green-red and blue-yellow.
 * @param {Triple} rgb 0..255
 * @returns {Triple}
 */
export function toLab(rgb) {
  const cone = times(
    TO_CONE,
    rgb.map((c) => linear(c / 255)),
  );
  return /** @type {Triple} */ (times(CONE_TO_LAB, cone.map(Math.cbrt)));
}

/**
 * The color of a screen, 0..255; one that no screen has loses color until it fits.
 * @param {Triple} lab
 * @returns {Triple}
 */
export function fromLab([lightness, a, b]) {
  for (let chroma = 1; ; chroma -= 0.05) {
    const cone = times(LAB_TO_CONE, [lightness, a * chroma, b * chroma]).map((c) => c ** 3);
    const light = times(CONE_TO_LINEAR, cone);
    if (chroma <= 0 || light.every((c) => c > -0.002 && c < 1.002)) {
      const bytes = light.map((c) => Math.round(255 * gamma(Math.min(1, Math.max(0, c)))));
      return /** @type {Triple} */ (bytes);
    }
  }
}

/**
 * Lightness, chroma and hue (degrees) as OKLab.
 * @param {number} lightness
 * @param {number} chroma
 * @param {number} hue
 * @returns {Triple}
 */
export function polar(lightness, chroma, hue) {
  const angle = (hue * Math.PI) / 180;
  return [lightness, chroma * Math.cos(angle), chroma * Math.sin(angle)];
}

/**
 * A color between two others.
 * @param {Triple} one
 * @param {Triple} other
 * @param {number} t 0 is the one, 1 the other
 * @returns {Triple}
 */
export function between(one, other, t) {
  return /** @type {Triple} */ (one.map((c, i) => c + (other[i] - c) * t));
}
