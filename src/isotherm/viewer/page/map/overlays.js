/** What is drawn below and above the points. */

import { isStill } from "./motion.js";
import { contoursOf, drawContours } from "./contours.js";
import { drawLines, drawNodes, drawShade, latticeOf, shadeOf } from "./grid.js";
import { drawOutline } from "./lasso.js";
import { cleared, hide } from "./layers.js";
import { Labels } from "./labels.js";
import { middles } from "./places.js";

const AMONG_OTHERS = { topic: 0, node: 0, selected: 0.75, matches: 0.75 };

/** Remembers what is dear to compute until it changes. */
export class Overlays {
  /**
   * @param {ReturnType<typeof import("./layers.js").createLayers>} layers
   * @param {import("../data/explorer.js").Explorer} data
   */
  constructor(layers, data) {
    this.layers = layers;
    this.data = data;
    this.labels = new Labels();
    this.labelled = "";
    this.lattices = new Map();
    this.shades = new Map();
    this.anchors = new Map();
    this.contours = { key: [], paths: [] };
  }

  /** Forgets what depended on a part of the data that has come only now. */
  forget() {
    this.anchors.clear();
    this.labelled = "";
  }

  lattice(map) {
    if (!this.lattices.has(map)) this.lattices.set(map, latticeOf(this.data, map));
    return this.lattices.get(map);
  }

  shade(map, theme) {
    const key = `${map} ${theme}`;
    if (!this.shades.has(key)) this.shades.set(key, shadeOf(this.lattice(map), theme));
    return this.shades.get(key);
  }

  /** Where the topics of a stage are. */
  anchorsOf(map, stage, places) {
    const key = `${map} ${stage}`;
    if (this.anchors.has(key)) return this.anchors.get(key);
    const { dimensions } = this.data.meta.maps[map];
    const topics = this.data.topicsAt(stage);
    const codes = this.data.codesAt(stage);
    let anchors = topics.map(() => null);
    if (codes) anchors = middles(places, dimensions, codes, topics.length);
    else if (topics.some((topic) => topic.finals)) {
      const finals = this.anchorsOf(map, Infinity, places);
      anchors = topics.map((topic) => mean(topic.finals.map((k) => finals[k]).filter(Boolean)));
    }
    this.anchors.set(key, anchors);
    return anchors;
  }

  /**
   * Chooses the names to write.
   * @param {import("./view.js").View} view what is shown
   */
  setLabels({ state, transition, coloring, by }) {
    const { stage } = transition;
    const topics = this.data.topicsAt(stage);
    const anchors = this.anchorsOf(state.map, stage, transition.at(state.map, stage));
    const below = by === "node" ? this.data.topicsBelow(state.node) : null;
    const own = (k) => (by === "topic" ? k === state.topic : (below?.has(k) ?? false));
    const strength = (k) => (by && !own(k) ? AMONG_OTHERS[by] : 1);
    const byTopic = coloring.column === null;
    const items = topics.flatMap((topic, k) => {
      if (!anchors[k] || (byTopic && state.hidden.has(k))) return [];
      const color = byTopic ? coloring.colors[k] : null;
      const { name: text, size: weight } = topic;
      return [
        { key: k, text, place: anchors[k], weight, first: own(k), strength: strength(k), color },
      ];
    });
    const key = `${state.map} ${stage}`;
    this.labels.set(items, key !== this.labelled);
    this.labelled = key;
  }

  /** The grid below the points. @param {import("./view.js").View} view what is shown */
  drawUnder({ state, camera, theme }) {
    const { grid, magnification } = state.overlays;
    const lattice = grid || magnification ? this.lattice(state.map) : null;
    if (!lattice) {
      hide(this.layers, "under");
      return;
    }
    const context = cleared(this.layers, "under");
    if (camera.deep) {
      drawNodes(context, lattice, camera, theme, magnification);
      return;
    }
    if (lattice.strength && magnification) {
      drawShade(context, lattice, this.shade(state.map, theme), camera, grid);
    }
    if (grid) drawLines(context, lattice, camera, theme);
  }

  /**
   * Lines of density and what a hand draws, above the points.
   * @param {import("./view.js").View} view what is shown
   */
  drawOver(view) {
    const { state, camera, theme, transition, outline } = view;
    const contours = state.overlays.contours && !camera.deep && !transition.moving;
    if (!contours && !outline) {
      hide(this.layers, "over");
      return;
    }
    const context = cleared(this.layers, "over");
    if (contours) drawContours(context, this.contoursFor(view), camera, theme);
    if (outline) drawOutline(context, outline, theme);
  }

  /**
   * The names in the map; every call takes their fading on.
   * @param {import("./view.js").View} view what is shown
   * @param {number} now milliseconds
   * @returns {{writings: import("../gl/text.js").Writing[], fading: boolean}}
   */
  write({ state, camera, transition, theme, background }, now) {
    if (!state.overlays.labels) return { writings: [], fading: false };
    this.labels.arrange(camera);
    const { clarity } = transition;
    return this.labels.write({ now, atOnce: isStill(state), clarity, theme, background });
  }

  contoursFor({ state, transition, counted, codes, mask }) {
    const places = transition.at(state.map, transition.stage);
    const key = [places, codes, mask, state.hidden];
    if (!key.every((value, at) => value === this.contours.key[at])) {
      this.contours = { key, paths: contoursOf(places, counted) };
    }
    return this.contours.paths;
  }
}

function mean(places) {
  if (!places.length) return null;
  return places[0].map((_, d) => places.reduce((sum, place) => sum + place[d], 0) / places.length);
}
