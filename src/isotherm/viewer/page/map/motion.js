/** Movements that the camera makes by itself. */

import { viewBetween } from "./camera.js";

const FLIGHT = 650; // milliseconds
const TURN = 0.12; // radians per second

/**
 * Whether the reader has asked for things to stand still.
 * @param {{motion?: boolean}} state
 * @returns {boolean}
 */
export function isStill(state) {
  return state.motion === false || matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** A flight of a camera to another view, and a slow turn. */
export class Motion {
  constructor() {
    this.flight = null;
    this.turned = 0; // time of the last step of a turn
  }

  /**
   * @param {import("./camera.js").Camera} camera
   * @param {Partial<import("./camera.js").View>} view
   * @param {boolean} atOnce
   */
  fly(camera, view, atOnce) {
    this.flight = null;
    if (atOnce) camera.look(view);
    else this.flight = { camera, from: camera.view, to: nearly(camera.view, view), begun: null };
  }

  stop() {
    this.flight = null;
  }

  get flying() {
    return this.flight !== null;
  }

  /** @param {number} now milliseconds */
  advance(now) {
    const { flight } = this;
    if (!flight) return;
    flight.begun ??= now;
    const t = Math.min(1, (now - flight.begun) / FLIGHT);
    const eased = 1 - (1 - t) ** 3;
    flight.camera.look(t < 1 ? viewBetween(flight.from, flight.to, eased) : flight.to);
    if (t === 1) this.flight = null;
  }

  /** @param {import("./camera.js").Camera} camera @param {number} now @param {boolean} wanted */
  turn(camera, now, wanted) {
    if (!wanted || this.flying) {
      this.turned = 0;
      return;
    }
    const passed = this.turned ? Math.min(100, now - this.turned) : 0;
    this.turned = now;
    if (passed) camera.look({ azimuth: camera.view.azimuth + (TURN * passed) / 1000 });
  }
}

/** The whole view to fly to; an angle is reached the short way round. */
function nearly(from, view) {
  const to = { ...from, ...view };
  const round = 2 * Math.PI;
  to.azimuth -= round * Math.round((to.azimuth - from.azimuth) / round);
  return to;
}
