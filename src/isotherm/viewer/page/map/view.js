/** What the map shows, and the frames in which it shows it. */

import { HitTest } from "./hit_test.js";
import { Camera } from "./camera.js";
import { coloring, css } from "../ui/colors.js";
import { Overlays } from "./overlays.js";
import { farEdges } from "./grid.js";
import { backgroundOf, createLayers, fitLayers, pictureOf, showRing } from "./layers.js";
import { highlightMask } from "../state/highlight.js";
import { Motion, isStill } from "./motion.js";
import { Painter } from "./painter.js";
import { Transition } from "./transition.js";
import { bounds, mainBox } from "./places.js";
import { codesOf, lookOf, paletteOf, sizesOf } from "./styles.js";

const CALM = 150; // milliseconds after which a hand is taken to rest, and no less than 3 frames
const NO_INSET = { left: 0, top: 0, right: 0, bottom: 0 };

/** One map on the screen. `stale` names what has changed since the last frame. */
export class View {
  /**
   * @param {HTMLElement} element
   * @param {import("../data/explorer.js").Explorer} data
   * @param {import("../state/store.js").Store} store
   */
  constructor(element, data, store) {
    this.element = element;
    this.data = data;
    this.store = store;
    this.n = data.meta.n_documents;
    this.layers = createLayers(element, describe(data.meta));
    this.painter = new Painter(this.layers, this.n, () => this.redraw());
    this.hitTest = new HitTest(this);
    this.overlays = new Overlays(this.layers, data);
    this.transition = new Transition(data, store.state.stage);
    this.motion = new Motion();
    this.cameras = new Map();
    this.inset = NO_INSET;
    this.stale = new Set(["theme", "codes", "sizes", "highlight", "palette", "labels", "points"]);
    this.fading = false;
    this.outline = null;
    this.settlers = [];
    /** @type {Promise<void>} the first picture */
    this.painted = new Promise((resolve) => (this.begun = resolve));
    this.lastMoved = -Infinity; // when a hand has last moved the map
    this.onFrame = () => {};
    this.frame = 0;
    this.fit();
    this.request();
  }

  // What is shown ------------------------------------------------------------------------------

  get state() {
    return this.store.state;
  }

  get dimensions() {
    return this.data.meta.maps[this.state.map].dimensions;
  }

  get theme() {
    return this.state.dark ? "dark" : "light";
  }

  get places() {
    return this.transition.places(this.state.map);
  }

  /** The camera of the map that is shown; each map keeps its own. */
  get camera() {
    const { map } = this.state;
    if (!this.cameras.has(map)) {
      const camera = new Camera(this.dimensions);
      const whole = { low: camera.view.target.map(() => 0), high: camera.view.target.map(() => 1) };
      camera.box = mainBox(this.data.points.array(`map${map}.places`), this.dimensions) ?? whole;
      camera.resize(this.layers.width, this.layers.height, this.inset);
      camera.settleAt(camera.box);
      camera.look(camera.home);
      this.cameras.set(map, camera);
    }
    return this.cameras.get(map);
  }

  /** Brings to the card what has changed. */
  refresh() {
    const { stale, painter, data, state, transition } = this;
    if (stale.has("theme")) this.background = backgroundOf(this.element, this.theme);
    this.coloring = coloring(data, { ...state, stage: transition.stage }, this.theme);
    if (stale.has("codes")) {
      this.codes = codesOf(data, state, transition.stage, this.coloring.colors.length);
    }
    if (stale.has("sizes")) this.sizes = sizesOf(data, state);
    if (stale.has("highlight")) {
      const { mask, by } = highlightMask(data, state);
      this.mask = mask;
      this.by = by;
    }
    if (["codes", "sizes", "highlight"].some((what) => stale.has(what))) {
      painter.send("setStyles", this.codes, this.sizes, this.mask);
    }
    if (stale.has("palette")) {
      this.palette = paletteOf(this.coloring, state.hidden);
      painter.send("setPalette", this.palette);
    }
    if (stale.has("labels")) this.overlays.setLabels(this);
    const { from, to } = this.places;
    painter.send("setPlaces", from, to, this.dimensions);
    stale.clear();
  }

  // Frames -------------------------------------------------------------------------------------

  /** Something has changed: draws again from the start. @param {string[]} what */
  redraw(...what) {
    for (const one of [...what, "points"]) this.stale.add(one);
    this.request();
  }

  request() {
    if (!this.frame) this.frame = requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    this.frame = 0;
    if (this.painter.busy()) {
      this.request();
      return;
    }
    this.move(now);
    const again = this.stale.has("points");
    if (again) {
      this.refresh();
      this.look = { ...lookOf(this), ...this.frameLines() };
      this.overlays.drawUnder(this);
    }
    const calm = Math.max(CALM, 3 * this.painter.budget.milliseconds);
    const moving = this.moving || now - this.lastMoved < calm;
    const afresh = again || this.painter.mustRestart(moving, this.fading);
    if (afresh) this.painter.restart(this.look, moving);
    if (again || this.stale.delete("over")) this.overlays.drawOver(this);
    if (afresh || (!this.painter.direct && (this.fading || !this.painter.complete))) this.show(now);
    this.onFrame();
    this.rings();
    if (this.moving || this.fading || !this.painter.complete || this.painter.busy()) this.request();
    else this.settlers.splice(0).forEach((resolve) => resolve());
  }

  show(now) {
    const { writings, fading } = this.overlays.write(this, now);
    this.fading = fading;
    this.painter.more();
    this.painter.show(writings);
    this.begun();
  }

  /** @returns {Pick<import("../gl/scene.js").Look, "frame"|"frameColor">} */
  frameLines() {
    const frame = this.camera.deep ? farEdges(this.camera, this.camera.box) : null;
    const [r, g, b] = this.theme === "dark" ? [1, 1, 1] : [0.08, 0.1, 0.16];
    return { frame, frameColor: [r, g, b, 0.14] };
  }

  get turning() {
    const { overlays, hover } = this.state;
    return Boolean(overlays.rotate) && this.camera.deep && hover < 0 && !isStill(this.state);
  }

  get moving() {
    return this.motion.flying || this.transition.moving || this.turning;
  }

  /** Takes the movements one step on. */
  move(now) {
    const { camera, transition, motion } = this;
    const before = [camera.version, transition.shown, transition.stage];
    motion.advance(now);
    motion.turn(camera, now, this.turning);
    transition.advance(now);
    if (camera.version !== before[0] || transition.shown !== before[1]) this.stale.add("points");
    if (transition.stage !== before[2]) {
      for (const what of ["codes", "palette", "highlight", "labels"]) this.stale.add(what);
    }
  }

  rings() {
    const { hover, document: open } = this.state;
    const line = this.theme === "dark" ? "#ffffff" : "#14161a";
    const colors = { line, halo: css(this.background, 0.8) };
    showRing(this.layers.hoverRing, this.hitTest.ringAt(hover), colors);
    showRing(this.layers.openRing, open === hover ? null : this.hitTest.ringAt(open), colors);
  }

  // What changes the whole ---------------------------------------------------------------------

  /** The camera is moved by hand. @param {(camera: Camera) => void} change */
  moveCamera(change) {
    this.motion.stop();
    this.lastMoved = performance.now();
    change(this.camera);
    this.redraw();
  }

  /** Shows an outline that is being drawn. @param {[number, number][]|null} path */
  sketch(path) {
    this.outline = path;
    this.stale.add("over");
    this.request();
  }

  /** Panels cover so much at the sides. @param {Partial<Camera["inset"]>} inset */
  setInset(inset) {
    this.inset = { ...this.inset, ...inset };
    this.frameCameras();
  }

  fit() {
    if (fitLayers(this.layers)) this.frameCameras();
  }

  /** Where all was in view, all is in view again. */
  frameCameras() {
    for (const camera of this.cameras.values()) {
      const home = camera.view.span === camera.home.span;
      camera.resize(this.layers.width, this.layers.height, this.inset);
      camera.settleAt(camera.box);
      if (home) camera.look({ target: camera.home.target, span: camera.home.span });
    }
    this.redraw();
  }

  changeMap() {
    this.motion.stop();
    this.store.set({ hover: -1 });
    this.redraw("labels");
  }

  changeStage() {
    this.transition.go(this.state.stage, isStill(this.state));
    this.redraw("codes", "palette", "highlight", "labels");
  }

  arrived() {
    this.overlays.forget();
    this.redraw("codes", "palette", "highlight", "labels");
  }

  zoomTo(indices) {
    const box = bounds(this.places.to, this.dimensions, indices?.length ? indices : null);
    if (box) this.fly(this.camera.around(box, 0.04 * this.camera.home.span));
  }

  zoom(factor) {
    this.moveCamera((camera) => camera.zoomAt(factor));
  }

  reset() {
    this.fly(this.camera.home);
  }

  fly(view) {
    this.motion.fly(this.camera, view, isStill(this.state));
    this.redraw();
  }

  // What others ask ----------------------------------------------------------------------------

  isShown(i) {
    return !this.palette || this.palette[4 * this.codes[i] + 3] > 0;
  }

  /** Whether a document counts for the density: drawn, and highlighted if any are. */
  counted = (i) => this.isShown(i) && (!this.mask || this.mask[i] === 1);

  labelAt(x, y) {
    return this.state.overlays.labels ? this.overlays.labels.at(x, y) : -1;
  }

  settle() {
    return new Promise((resolve) => {
      this.settlers.push(resolve);
      this.request();
    });
  }

  async screenshot() {
    await this.settle();
    // What is on the screen may be read only just after it was drawn.
    if (this.painter.direct) this.painter.restart(this.look, false);
    while (!this.painter.complete) this.painter.more();
    this.show(performance.now());
    return pictureOf(this.layers, css(this.background));
  }

  destroy() {
    cancelAnimationFrame(this.frame);
    this.painter.close();
    this.element.replaceChildren();
  }
}

/** What the map is, for those who do not see it. */
function describe(meta) {
  const { rows } = meta.nouns;
  const count = meta.n_documents.toLocaleString("en");
  return `Map of ${count} ${rows}. Arrow keys turn or move it, plus and minus zoom, 0 shows all.`;
}
