/** The map as the rest of the page knows it. */

import { Hand } from "./hand.js";
import { View } from "./view.js";

/**
 * @typedef {object} MapView coordinates are CSS pixels from the top left of its element
 * @property {(i: number) => {x: number, y: number, visible: boolean}} project
 * @property {(x: number, y: number, reach?: number) => number} pick
 * @property {() => {frames: number, drawn: number, ms: number, budget: number, complete: boolean}} stats
 * @property {() => Promise<void>} painted
 * @property {() => Promise<void>} settle
 * @property {() => Promise<Blob>} screenshot
 * @property {(indices: ArrayLike<number>) => void} zoomTo
 * @property {(factor: number) => void} zoom
 * @property {() => void} reset
 * @property {(inset: {left?: number, top?: number, right?: number, bottom?: number}) => void} setInset
 * @property {(mode: string) => void} setMode
 * @property {() => void} focus
 * @property {() => {x: number, y: number, width: number, height: number}[]} labels
 * @property {() => void} destroy
 */

/**
 * Makes the map in an element; it follows the store and sets hover, document, selected and topic.
 * @param {HTMLElement} element
 * @param {import("../data/data.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 * @returns {MapView}
 */
export function createMap(element, data, store) {
  const view = new View(element, data, store);
  const hand = new Hand(view, store);
  view.onFrame = () => hand.hover();
  const offs = [hand.off, ...follow(view, hand, store)];
  return {
    project: (i) => view.aim.project(i),
    pick: (x, y, reach = 6) => view.aim.pick(x, y, reach),
    stats: () => statistics(view.painter),
    painted: () => view.painted,
    settle: () => view.settle(),
    screenshot: () => view.screenshot(),
    zoomTo: (indices) => view.zoomTo(indices),
    zoom: (factor) => view.zoom(factor),
    reset: () => view.reset(),
    setInset: (inset) => view.setInset(inset),
    setMode: (mode) => hand.setMode(mode),
    focus: () => view.layers.hand.focus(),
    labels: () => view.decor.labels.boxes(),
    destroy: () => {
      offs.forEach((off) => off());
      view.destroy();
    },
  };
}

/** Tells the map what has changed in the state and in the window. */
function follow(view, hand, store) {
  const stale =
    (...what) =>
    () =>
      view.redraw(...what);
  const fit = () => view.fit();
  const observer = new ResizeObserver(fit);
  observer.observe(view.element);
  window.addEventListener("resize", fit); // the ratio of pixels changes without the size
  return [
    () => observer.disconnect(),
    () => window.removeEventListener("resize", fit),
    store.on(["map"], () => view.changeMap()),
    store.on(["stage"], () => view.changeStage()),
    store.on(["arrived"], () => view.arrived()),
    store.on(["colour"], stale("codes", "palette", "labels")),
    store.on(["hidden"], stale("palette", "labels")),
    store.on(["size"], stale("sizes")),
    store.on(["matches", "selected", "node", "topic"], stale("lit", "labels")),
    store.on(["theme", "dark"], stale("theme", "palette", "labels")),
    store.on(["overlays", "motion"], stale()),
    store.on(["hover", "document"], () => view.request()),
    store.on(["mode"], () => hand.setMode(store.state.mode)),
  ];
}

function statistics({ pace, drawn, complete }) {
  return { frames: pace.frames, drawn, ms: pace.milliseconds, budget: pace.budget, complete };
}
