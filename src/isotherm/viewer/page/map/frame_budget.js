/** How many points a frame may draw so that the map follows the hand. */

const TARGET = 28; // milliseconds
const LEAST = 15000;
const PATIENCE = 6; // a still picture may take longer over each piece: every frame costs by itself

/** Steers by the time that the last frames took. */
export class FrameBudget {
  /** @param {number} n points in all */
  constructor(n) {
    this.n = n;
    this.points = Math.min(n, 60000);
    this.started = 0;
    this.drawn = 0;
    this.frames = 0;
    this.milliseconds = 0; // of the last frame
  }

  /** How many points to add to a picture that stands still. */
  get piece() {
    return PATIENCE * this.points;
  }

  /** A frame with so many points goes to the card. */
  start(drawn) {
    this.started = performance.now();
    this.drawn = drawn;
    this.frames += 1;
  }

  /** The card has drawn it. */
  done() {
    if (!this.started) return;
    const took = performance.now() - this.started;
    this.started = 0;
    this.milliseconds = took;
    // A frame with few points says nothing about a frame with many, nor the other way round.
    if (this.drawn < 0.5 * this.points || this.drawn > 1.1 * this.points + LEAST) return;
    const factor = Math.min(1.6, Math.max(0.5, TARGET / Math.max(took, 1)));
    this.points = Math.round(Math.min(Math.max(this.points * factor, LEAST), this.n + LEAST));
  }
}
