/** The map as the rest of the page knows it. */

import { Interaction } from "./interaction.js";
import { View } from "./view.js";

/**
 * @typedef {object} MapView coordinates are CSS pixels from the top left of its element
 * @property {(i: number) => {x: number, y: number, visible: boolean}} project
 * @property {(x: number, y: number, reach?: number) => number} pick
 * @property {() => {frames: number, drawn: number, ms: number, budget: number,
 *   complete: boolean}} stats
 * @property {() => Promise<void>} painted
 * @property {() => Promise<void>} settle
 * @property {() => Promise<Blob>} screenshot
 * @property {(indices: ArrayLike<number>) => void} zoomTo
 * @property {(factor: number) => void} zoom
 * @property {() => void} reset
 * @property {(inset: Partial<import("./camera.js").Camera["inset"]>) => void} setInset
 * @property {(mode: string) => void} setMode
 * @property {() => void} focus
 * @property {() => {x: number, y: number, width: number, height: number}[]} labels
 * @property {() => void} destroy
 */

/**
 * Makes the map in an element; it follows the store and sets hover, document, selected and topic.
 * @param {HTMLElement} element
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 * @returns {MapView}
 */
export function createMap(element, data, store) {
  const view = new View(element, data, store);
  const interaction = new Interaction(view, store);
  view.onFrame = () => interaction.hover();
  const offs = [interaction.off, ...follow(view, interaction, store)];
  return {
    project: (i) => view.hitTest.project(i),
    pick: (x, y, reach = 6) => view.hitTest.pick(x, y, reach),
    stats: () => statistics(view.painter),
    painted: () => view.painted,
    settle: () => view.settle(),
    screenshot: () => view.screenshot(),
    zoomTo: (indices) => view.zoomTo(indices),
    zoom: (factor) => view.zoom(factor),
    reset: () => view.reset(),
    setInset: (inset) => view.setInset(inset),
    setMode: (mode) => interaction.setMode(mode),
    focus: () => view.layers.surface.focus(),
    labels: () => view.overlays.labels.boxes(),
    destroy: () => {
      offs.forEach((off) => off());
      view.destroy();
    },
  };
}

/** Tells the map what has changed in the state and in the window. */
function follow(view, interaction, store) {
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
    store.on(["color"], stale("codes", "palette", "labels")),
    store.on(["hidden"], stale("palette", "labels")),
    store.on(["size"], stale("sizes")),
    store.on(["matches", "selected", "node", "topic"], stale("highlight", "labels")),
    store.on(["theme", "dark"], stale("theme", "palette", "labels")),
    store.on(["overlays", "motion"], stale()),
    store.on(["hover", "document"], () => view.request()),
    store.on(["mode"], () => interaction.setMode(store.state.mode)),
  ];
}

function statistics({ budget, drawn, complete }) {
  return { frames: budget.frames, drawn, ms: budget.milliseconds, budget: budget.points, complete };
}
