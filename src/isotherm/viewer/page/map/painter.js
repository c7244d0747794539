/** Draws the points: a fair sample while things move, then the rest piece by piece. */

import { Canvas2d, MOST } from "../gl/canvas2d.js";
import { FrameBudget } from "./frame_budget.js";
import { shuffled } from "./places.js";
import { Scene } from "../gl/scene.js";

const HIGHLIGHTS_AT_ONCE = 5000; // what was searched for is seen while things move, too

/** Keeps what the card was sent, to send it again when the card was lost. */
export class Painter {
  /**
   * @param {ReturnType<typeof import("./layers.js").createLayers>} layers
   * @param {number} n points
   * @param {() => void} again something has to be drawn again
   */
  constructor(layers, n, again) {
    this.layers = layers;
    this.n = n;
    this.order = shuffled(n);
    this.budget = new FrameBudget(n);
    this.sent = new Map();
    this.next = 0;
    this.nextHighlight = 0;
    this.lost = false;
    this.direct = false;
    this.open();
    layers.points.addEventListener("webglcontextlost", (event) => {
      event.preventDefault(); // it asks for the card to be given back
      this.lost = true;
    });
    layers.points.addEventListener("webglcontextrestored", () => {
      this.lost = false;
      this.scene = new Scene(layers.points, this.order);
      for (const [name, values] of this.sent) this.scene[name](...values);
      again();
    });
  }

  open() {
    try {
      this.scene = new Scene(this.layers.points, this.order);
    } catch {
      this.withoutCard();
    }
  }

  withoutCard() {
    const { layers } = this;
    const canvas = layers.points.cloneNode(); // the old one may have a context of another kind
    layers.points.replaceWith(canvas);
    layers.points = canvas;
    this.scene = new Canvas2d(canvas, this.order);
    this.n = Math.min(this.n, MOST);
    const some =
      this.order.length > MOST ? `; it shows ${MOST.toLocaleString("en")} points only` : "";
    layers.message.textContent = `This browser has no WebGL2, so the map is drawn slowly${some}.`;
    layers.message.hidden = false;
  }

  /** Gives the card back: a browser has few contexts to give. */
  close() {
    if (this.scene instanceof Scene)
      this.scene.gl.getExtension("WEBGL_lose_context")?.loseContext();
    this.lost = true;
  }

  /** @param {"setPlaces"|"setStyles"|"setPalette"} name @param {any[]} values */
  send(name, ...values) {
    this.sent.set(name, values);
    if (!this.lost) this.scene[name](...values);
  }

  /** Whether the last frame is still being drawn. */
  busy() {
    if (this.lost) return false;
    if (this.scene.busy()) return true;
    this.budget.done();
    return false;
  }

  /** Whether every point is in the picture. */
  get complete() {
    return this.lost || (this.next >= this.n && this.nextHighlight >= this.scene.highlightCount);
  }

  /** How many points are in the picture. */
  get drawn() {
    return Math.min(this.next, this.n);
  }

  /**
   * An empty picture. While things move, and where all points fit one frame, they go to the screen
   * at once; a sheet that the rest is added to costs a copy of it in every frame.
   * @param {import("../gl/scene.js").Look} look
   * @param {boolean} moving
   */
  restart(look, moving) {
    this.next = 0;
    this.nextHighlight = 0;
    this.direct = moving || this.n + this.scene.highlightCount <= this.budget.points;
    if (!this.lost) this.scene.begin(look, this.direct);
  }

  /** Whether what is on the screen cannot be added to. */
  mustRestart(moving, fading) {
    return this.direct && (this.complete ? fading : !moving);
  }

  /** Brings the picture to the screen. @param {import("../gl/text.js").Writing[]} writings */
  show(writings) {
    if (this.lost) return;
    this.scene.show(writings, this.layers.ratio);
    this.scene.mark();
  }

  /** Adds as many points as a frame has time for. */
  more() {
    if (this.complete || (this.direct && this.next > 0)) return;
    const { scene, budget } = this;
    const most = this.next > 0 ? budget.piece : budget.points;
    const share = Math.max(HIGHLIGHTS_AT_ONCE, Math.floor(most / 2));
    const highlights = Math.min(scene.highlightCount - this.nextHighlight, share);
    const some = Math.min(this.n - this.next, Math.max(most - highlights, 1000));
    budget.start(highlights + some);
    scene.draw(
      [this.next, this.next + some],
      [this.nextHighlight, this.nextHighlight + highlights],
    );
    this.next += some;
    this.nextHighlight += highlights;
  }
}
