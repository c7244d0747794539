/** The map: points, what is drawn around them, and what a hand does to them. */

import { chooseTopic, openDocument } from "./actions.js";
import { Camera } from "./camera.js";
import { colouring, css } from "./colours.js";
import { Decor } from "./decor.js";
import { listen } from "./gestures.js";
import { isMeant } from "./lasso.js";
import { backgroundOf, createLayers, fitLayers, pictureOf, showRing } from "./layers.js";
import { litMask } from "./lit.js";
import { Motion, isStill } from "./motion.js";
import { Painter } from "./painter.js";
import { Passage } from "./morph.js";
import { Picker } from "./picking.js";
import { FULL, NOWHERE, bounds, mainBox } from "./places.js";
import { codesOf, opacity, paletteOf, pointSize, sizesOf } from "./styles.js";

const REACH = { mouse: 6, touch: 16 }; // CSS pixels between a pointer and a point that it means
const LARGEST = 26;
const ARROWS = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/**
 * Makes the map in an element.
 * @param {HTMLElement} element
 * @param {import("./data.js").Explorer} data
 * @param {any} store
 */
export function createMap(element, data, store) {
  const map = new MapView(element, data, store);
  return {
    project: (i) => map.project(i),
    pick: (x, y) => map.pick(x, y),
    stats: () => map.stats(),
    settle: () => map.settle(),
    screenshot: () => map.screenshot(),
    zoomTo: (indices) => map.zoomTo(indices),
    reset: () => map.reset(),
    zoom: (factor) => map.zoom(factor),
    setInset: (inset) => map.setInset(inset),
    setMode: (mode) => map.setMode(mode),
    mode: () => map.mode,
    focus: () => map.layers.over.focus(),
    labels: () => map.decor.labels.boxes(),
    destroy: () => map.destroy(),
  };
}

class MapView {
  constructor(element, data, store) {
    const { meta } = data;
    const { state } = store;
    Object.assign(this, { element, data, store });
    this.n = meta.n_documents;
    this.layers = createLayers(element, describe(meta));
    this.painter = new Painter(this.layers, this.n, () => this.redraw());
    this.picker = new Picker(this.n);
    this.decor = new Decor(this.layers, data);
    this.passage = new Passage(data, state.stage);
    this.motion = new Motion();
    this.cameras = new Map();
    this.mode = state.mode ?? "move";
    this.stale = new Set(["theme", "codes", "sizes", "lit", "palette", "labels", "points"]);
    this.settlers = [];
    this.inset = { left: 0, top: 0, right: 0, bottom: 0 };
    this.pointer = null; // where to look for a point to hover
    this.outline = null;
    this.frame = 0;
    this.fit();
    this.follow();
    this.request();
  }

  /** Listens to everything that may change the picture. */
  follow() {
    const { store, element } = this;
    const means = {
      drag: (dx, dy, other) => this.drag(dx, dy, other),
      zoom: (factor, x, y) => this.moved(() => this.camera.zoomAt(factor, x, y)),
      hover: (x, y) => this.point([x, y]),
      leave: () => this.point(null),
      click: (x, y, touch) => this.click(x, y, touch ? REACH.touch : REACH.mouse),
      outline: (kind, path, done) => this.surround(path, done),
      cancel: () => this.surround(null, false),
      key: (key, shift) => this.key(key, shift),
      mode: () => this.mode,
    };
    const stale = (...what) => () => this.redraw(...what);
    const observer = new ResizeObserver(() => this.fit());
    observer.observe(element);
    const resized = () => this.fit();
    window.addEventListener("resize", resized); // the ratio of pixels changes without the size
    this.offs = [
      listen(this.layers.over, means),
      store.on(["map"], () => this.changeMap()),
      store.on(["stage"], () => this.changeStage()),
      store.on(["arrived"], () => this.arrived()),
      store.on(["colour"], stale("codes", "palette", "labels")),
      store.on(["hidden"], stale("palette", "labels")),
      store.on(["size"], stale("sizes")),
      store.on(["matches", "selected", "node", "topic"], stale("lit", "labels")),
      store.on(["theme", "dark"], stale("theme", "palette", "labels")),
      store.on(["overlays"], stale()),
      store.on(["hover", "document"], () => this.request()),
      store.on(["mode"], () => this.setMode(store.state.mode)),
      () => observer.disconnect(),
      () => window.removeEventListener("resize", resized),
    ];
  }

  destroy() {
    this.offs.forEach((off) => off());
    cancelAnimationFrame(this.frame);
    this.element.replaceChildren();
  }

  // What is shown ------------------------------------------------------------------------------

  get state() {
    return this.store.state;
  }

  get dimensions() {
    return this.data.meta.maps[this.state.map].dimensions;
  }

  /** The camera of the map that is shown; each map keeps its own. */
  get camera() {
    const { map } = this.state;
    if (!this.cameras.has(map)) {
      const camera = new Camera(this.dimensions);
      const box = mainBox(this.data.points.array(`map${map}.places`), this.dimensions);
      camera.box = box ?? { low: camera.view.target.map(() => 0), high: camera.view.target.map(() => 1) };
      camera.resize(this.layers.width, this.layers.height, this.inset);
      camera.settleAt(camera.box);
      camera.look(camera.home);
      this.cameras.set(map, camera);
    }
    return this.cameras.get(map);
  }

  get theme() {
    return this.state.dark ? "dark" : "light";
  }

  get places() {
    return this.passage.places(this.state.map);
  }

  /** Brings to the card what has changed. */
  refresh() {
    const { stale, painter, data, state, passage } = this;
    if (stale.has("theme")) this.background = backgroundOf(this.element, this.theme);
    const coloured = { ...state, stage: passage.stage };
    this.colouring = colouring(data, coloured, this.theme);
    if (stale.has("codes")) {
      this.codes = codesOf(data, state, passage.stage, this.colouring.colours.length);
    }
    if (stale.has("sizes")) this.sizes = sizesOf(data, state);
    if (stale.has("lit")) {
      const { mask, by } = litMask(data, state);
      Object.assign(this, { mask, by });
    }
    if (["codes", "sizes", "lit"].some((what) => stale.has(what))) {
      painter.tell("setStyles", this.codes, this.sizes, this.mask);
    }
    if (stale.has("palette")) {
      this.palette = paletteOf(this.colouring, state.hidden);
      painter.tell("setPalette", this.palette);
    }
    if (stale.has("labels")) this.decor.setLabels(this);
    stale.clear();
  }

  look() {
    const { camera, layers, n } = this;
    const shorter = Math.min(layers.width, layers.height);
    return {
      matrix: camera.matrix,
      mixing: this.places.mixing,
      size: pointSize(n, camera.zoom, shorter) * layers.ratio,
      largest: LARGEST * layers.ratio,
      eye: camera.eye,
      depth: camera.radius,
      fog: 0.6,
      opacity: camera.deep ? 1 : opacity(n, camera.zoom),
      dimming: this.theme === "dark" ? 0.6 : 0.72,
      background: this.background,
    };
  }

  /** The radius of a point in CSS pixels, as the card draws it; 0 for one that is hidden. */
  radius(i) {
    if (!this.palette[4 * this.codes[i] + 3]) return 0;
    const { size, eye, largest } = this.drawnLook;
    const grown = this.sizes ? 0.55 + 2 * Math.sqrt(this.sizes[i] / 255) : 1;
    const near = eye ? eye / this.picker.ws[i] : 1;
    const pixels = size * near * grown * (this.mask && !this.mask[i] ? 0.85 : 1);
    return Math.min(largest, Math.max(1, pixels)) / this.layers.ratio / 2;
  }

  /** What is on top has the larger number. */
  rank(i) {
    const lit = this.mask && this.mask[i] ? 1e9 : 0;
    if (this.camera.deep) return lit - this.picker.ws[i];
    this.depths ??= inverse(this.painter.order);
    return lit + this.depths[i];
  }

  isShown(i) {
    return this.palette[4 * this.codes[i] + 3] > 0;
  }

  // Frames -------------------------------------------------------------------------------------

  /** Something has changed: draws again from the start. */
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
      const { from, to } = this.places;
      this.painter.tell("setPlaces", from, to, this.dimensions);
      this.drawnLook = this.look();
      this.painter.restart(this.drawnLook);
      this.decor.drawUnder(this.scenery(now));
    }
    this.painter.more();
    if (again || this.fading) this.fading = this.decor.drawOver(this.scenery(now));
    this.hover();
    this.rings();
    if (this.moving || this.fading || !this.painter.complete || this.painter.busy()) this.request();
    else this.settlers.splice(0).forEach((resolve) => resolve());
  }

  get turning() {
    const { overlays, hover } = this.state;
    return Boolean(overlays.rotate) && this.camera.deep && hover < 0 && !isStill(this.state);
  }

  get moving() {
    return this.motion.flying || this.passage.moving || this.turning;
  }

  /** Takes the movements one step on. */
  move(now) {
    const { camera, passage, motion } = this;
    const before = [camera.version, passage.shown, passage.stage];
    motion.advance(now);
    motion.turn(camera, now, this.turning);
    passage.advance(now);
    if (camera.version !== before[0] || passage.shown !== before[1]) this.stale.add("points");
    if (passage.stage !== before[2]) {
      for (const what of ["codes", "palette", "lit", "labels"]) this.stale.add(what);
    }
  }

  scenery(now) {
    const counted = (i) => this.isShown(i) && (!this.mask || this.mask[i] === 1);
    const { state, camera, theme, background, passage, codes, mask, outline } = this;
    const atOnce = isStill(state);
    const { box } = camera;
    return { state, camera, theme, background, passage, codes, mask, outline, counted, now, atOnce, box };
  }

  rings() {
    const { hover, document: open } = this.state;
    const ink = this.theme === "dark" ? "#ffffff" : "#14161a";
    const colours = { line: ink, halo: css(this.background, 0.8) };
    showRing(this.layers.hoverRing, this.ringAt(hover), colours);
    showRing(this.layers.openRing, open === hover ? null : this.ringAt(open), colours);
  }

  ringAt(i) {
    if (i < 0 || !this.codes) return null;
    const at = this.project(i);
    return at.visible ? { ...at, radius: this.radiusNow(i, at.w) } : null;
  }

  radiusNow(i, w) {
    this.picker.ws[i] = w;
    return this.radius(i);
  }

  // What a hand does ---------------------------------------------------------------------------

  /** The camera was moved by hand. */
  moved(change) {
    this.motion.stop();
    change();
    this.redraw();
  }

  drag(dx, dy, other) {
    const { camera } = this;
    this.moved(() => (camera.deep && !other ? camera.orbit(dx, dy) : camera.pan(dx, dy)));
  }

  key(key, shift) {
    const { camera } = this;
    if (key in ARROWS) {
      const [x, y] = ARROWS[key].map((sign) => 45 * sign);
      this.moved(() => (camera.deep && !shift ? camera.orbit(x, y) : camera.pan(x, y)));
    } else if (key === "+" || key === "=") this.zoom(1.3);
    else if (key === "-" || key === "_") this.zoom(1 / 1.3);
    else if (key === "0") this.reset();
    else return false;
    return true;
  }

  point(place) {
    this.pointer = place;
    if (place) this.request();
    else this.store.set({ hover: -1 });
  }

  /** Looks for the point under the pointer, once a frame at most. */
  hover() {
    if (!this.pointer || this.moving) return;
    const found = this.pick(...this.pointer);
    this.pointer = null;
    this.store.set({ hover: found });
    this.cursor(found >= 0);
  }

  cursor(onPoint) {
    const idle = this.mode === "move" ? "grab" : "crosshair";
    this.layers.over.style.cursor = onPoint && this.mode === "move" ? "pointer" : idle;
  }

  click(x, y, reach) {
    const found = this.pick(x, y, reach);
    const topic = this.state.overlays.labels ? this.decor.labels.at(x, y) : -1;
    if (found >= 0) openDocument(this.store, found);
    else if (topic >= 0) chooseTopic(this.store, topic);
    else this.store.set({ selected: null });
  }

  /** An outline around points, still growing or done; null: none. */
  surround(path, done) {
    this.outline = done ? null : path;
    this.fading = true; // the sheet above the points is drawn again
    this.request();
    if (!done) return;
    let selected = null;
    if (isMeant(path)) {
      this.picker.update(this.camera, this.places);
      selected = this.picker.inside(path, (i) => this.isShown(i));
    }
    this.store.set({ selected: selected?.length ? selected : null });
  }

  setMode(mode) {
    this.mode = mode;
    this.cursor(false);
  }

  // What changes the whole ---------------------------------------------------------------------

  /** Panels cover so much at the sides. */
  setInset(inset) {
    this.inset = { ...this.inset, ...inset };
    this.frameCameras();
  }

  fit() {
    if (fitLayers(this.layers)) this.frameCameras();
  }

  /** All is in view again where it was. */
  frameCameras() {
    const { width, height } = this.layers;
    for (const camera of this.cameras.values()) {
      const home = camera.view.span === camera.home.span;
      camera.resize(width, height, this.inset);
      camera.settleAt(camera.box);
      if (home) camera.look({ target: camera.home.target, span: camera.home.span });
    }
    this.redraw();
  }

  changeMap() {
    this.motion.stop();
    this.camera.resize(this.layers.width, this.layers.height, this.inset);
    this.store.set({ hover: -1 });
    this.redraw("labels");
  }

  changeStage() {
    this.passage.go(this.state.stage, isStill(this.state));
    this.redraw("codes", "palette", "lit", "labels");
  }

  arrived() {
    this.decor.forget();
    this.redraw("codes", "palette", "lit", "labels");
  }

  // What others ask ----------------------------------------------------------------------------

  project(i) {
    const { from, to, mixing } = this.places;
    const { camera, dimensions } = this;
    const start = i * dimensions;
    const has = i >= 0 && i < this.n && from[start] !== NOWHERE && to[start] !== NOWHERE;
    if (!has) return { x: NaN, y: NaN, w: NaN, visible: false };
    const place = Array.from({ length: dimensions }, (_, d) => {
      const begun = from[start + d];
      return (begun + (to[start + d] - begun) * mixing) / FULL;
    });
    const at = camera.project(place);
    const inside = at.x >= 0 && at.y >= 0 && at.x < camera.width && at.y < camera.height;
    return { ...at, visible: at.w > 0 && inside && (!this.codes || this.isShown(i)) };
  }

  pick(x, y, reach = REACH.mouse) {
    if (!this.drawnLook) return -1;
    this.picker.update(this.camera, this.places);
    const how = { reach, radius: (i) => this.radius(i), rank: (i) => this.rank(i) };
    return this.picker.at(x, y, how);
  }

  stats() {
    const { pace, drawn, complete } = this.painter;
    return { frames: pace.frames, drawn, ms: pace.milliseconds, budget: pace.budget, complete };
  }

  settle() {
    return new Promise((resolve) => {
      this.settlers.push(resolve);
      this.request();
    });
  }

  async screenshot() {
    await this.settle();
    return pictureOf(this.layers, css(this.background));
  }

  zoomTo(indices) {
    const { from } = this.places;
    const box = bounds(from, this.dimensions, indices?.length ? indices : null);
    if (!box) return;
    const view = this.camera.around(box, 0.04 * this.camera.home.span);
    this.motion.fly(this.camera, view, isStill(this.state));
    this.redraw();
  }

  zoom(factor) {
    this.moved(() => this.camera.zoomAt(factor));
  }

  reset() {
    this.motion.fly(this.camera, this.camera.home, isStill(this.state));
    this.redraw();
  }
}

/** What the map is, for those who do not see it. */
function describe(meta) {
  const { rows } = meta.nouns;
  const count = meta.n_documents.toLocaleString("en");
  return `Map of ${count} ${rows}. Arrow keys turn or move it, plus and minus zoom, 0 shows all.`;
}

function inverse(order) {
  const positions = new Uint32Array(order.length);
  for (let at = 0; at < order.length; at++) positions[order[at]] = at;
  return positions;
}
