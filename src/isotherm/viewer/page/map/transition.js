/** The way from one stage to another: which two are mixed, and how far it has come. */

import { NONE_16 } from "../data/format.js";
import { placesAt } from "./places.js";

const STEP = 450; // milliseconds from a stage to the next

/** The stage that is shown, on its way to the one that was asked for. */
export class Transition {
  /** @param {import("../data/explorer.js").Explorer} data @param {number} stage */
  constructor(data, stage) {
    this.data = data;
    this.shown = stage; // may lie between two
    this.goal = stage;
    this.begun = null;
    this.start = stage;
    this.filled = new WeakMap();
  }

  /** @param {number} stage @param {boolean} atOnce */
  go(stage, atOnce) {
    this.goal = stage;
    this.start = atOnce ? stage : this.shown;
    this.shown = this.start;
    this.begun = null;
  }

  /** Whether it is still on its way. */
  get moving() {
    return this.shown !== this.goal;
  }

  /** The stage that codes, colors and labels are of. */
  get stage() {
    return Math.round(this.shown);
  }

  /** How clearly labels of that stage are seen: they fade between two stages. */
  get clarity() {
    return Math.max(0, 1 - 2.4 * Math.abs(this.shown - this.stage));
  }

  /** @param {number} now milliseconds */
  advance(now) {
    if (!this.moving) return;
    this.begun ??= now;
    const way = this.goal - this.start;
    const t = Math.min(1, (now - this.begun) / (STEP * Math.min(2, Math.max(1, Math.abs(way)))));
    this.shown = t < 1 ? this.start + way * t * t * (3 - 2 * t) : this.goal;
  }

  /**
   * The places that are mixed at present.
   * @param {number} map
   * @returns {{from: Uint16Array, to: Uint16Array, mixing: number}}
   */
  places(map) {
    const lower = Math.floor(this.shown);
    const to = this.at(map, Math.ceil(this.shown));
    const from = this.at(map, lower);
    return { from, to, mixing: from === to ? 0 : this.shown - lower };
  }

  /** Places of a stage; a document that had none yet comes from its final one. */
  at(map, stage) {
    const places = placesAt(this.data, map, stage);
    const final = this.data.points.array(`map${map}.places`);
    if (places === final) return places;
    if (!this.filled.has(places)) {
      this.filled.set(places, filled(places, final, this.data.meta.maps[map].dimensions));
    }
    return this.filled.get(places);
  }
}

function filled(places, final, dimensions) {
  let result = places;
  for (let start = 0; start < places.length; start += dimensions) {
    if (places[start] !== NONE_16 || final[start] === NONE_16) continue;
    if (result === places) result = places.slice();
    for (let d = 0; d < dimensions; d++) result[start + d] = final[start + d];
  }
  return result;
}
