/** What a hand does to the map. */

import { chooseTopic, openDocument } from "../state/actions.js";
import { listen } from "./gestures.js";
import { isMeant } from "./lasso.js";

const REACH = { mouse: 6, touch: 16 }; // CSS pixels between a pointer and a point that it means
const ARROWS = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const STRIDE = 45; // CSS pixels
const CLOSER = 1.3;

/** Turns gestures into movements of the camera and changes of the state. */
export class Interaction {
  /** @param {import("./view.js").View} view @param {import("../state/store.js").Store} store */
  constructor(view, store) {
    this.view = view;
    this.store = store;
    this.mode = store.state.mode ?? "move";
    /** @type {[number, number]|null} where to look for a point to hover */
    this.pointer = null;
    this.off = listen(view.layers.surface, {
      drag: (dx, dy, other) => this.drag(dx, dy, other),
      zoom: (factor, x, y) => view.moveCamera((camera) => camera.zoomAt(factor, x, y)),
      hover: (x, y) => this.point([x, y]),
      leave: () => this.point(null),
      click: (x, y, touch) => this.click(x, y, touch ? REACH.touch : REACH.mouse),
      outline: (path, done) => this.surround(path, done),
      cancel: () => this.surround(null, false),
      key: (key, shift) => this.key(key, shift),
      mode: () => this.mode,
    });
  }

  setMode(mode) {
    this.mode = mode;
    this.cursor(false);
  }

  drag(dx, dy, other) {
    this.view.moveCamera((camera) => {
      if (camera.deep && !other) camera.orbit(dx, dy);
      else camera.pan(dx, dy);
    });
  }

  key(key, shift) {
    if (key in ARROWS) {
      const [x, y] = ARROWS[key];
      this.drag(STRIDE * x, STRIDE * y, shift);
    } else if (key === "+" || key === "=") this.view.zoom(CLOSER);
    else if (key === "-" || key === "_") this.view.zoom(1 / CLOSER);
    else if (key === "0") this.view.reset();
    else return false;
    return true;
  }

  point(place) {
    this.pointer = place;
    if (place) this.view.request();
    else this.store.set({ hover: -1 });
  }

  /** Looks for the point under the pointer; called once a frame at most. */
  hover() {
    if (!this.pointer || this.view.moving) return;
    const hit = this.view.hitTest.pick(...this.pointer, REACH.mouse);
    this.pointer = null;
    this.store.set({ hover: hit });
    this.cursor(hit >= 0);
  }

  cursor(onPoint) {
    const idle = this.mode === "move" ? "grab" : "crosshair";
    this.view.layers.surface.style.cursor = onPoint && this.mode === "move" ? "pointer" : idle;
  }

  click(x, y, reach) {
    const hit = this.view.hitTest.pick(x, y, reach);
    const topic = this.view.labelAt(x, y);
    if (hit >= 0) openDocument(this.store, hit);
    else if (topic >= 0) chooseTopic(this.store, topic);
    else this.store.set({ selected: null });
  }

  /** An outline around points, still growing or done; null: none. */
  surround(path, done) {
    this.view.sketch(done ? null : path);
    if (!done) return;
    const selected = isMeant(path) ? this.view.hitTest.inside(path) : null;
    this.store.set({ selected: selected?.length ? selected : null });
  }
}
