/** Which color stands for what: topics, categories and numbers, in the light and in the dark. */

import { between, fromLab, polar, toLab } from "./oklab.js";

/**
 * @typedef {[number, number, number]} Rgb 0..255
 * @typedef {"light"|"dark"} Theme
 *
 * @typedef {object} Coloring
 * @property {"category"|"number"} kind
 * @property {Rgb[]} colors by code; of a number, 256 from its lowest to its highest value
 * @property {string[]} names of the codes; [] for a number
 * @property {Rgb} missing
 * @property {import("../data/format.js").Column|null} column null for topics
 */

/** Okabe and Ito's colors: told apart with every kind of color vision. In the order of hues. */
const WHEEL = /** @type {Rgb[]} */ ([
  [213, 94, 0], // vermilion
  [230, 159, 0], // orange
  [240, 228, 66], // yellow
  [0, 158, 115], // green
  [86, 180, 233], // sky
  [0, 114, 178], // blue
  [204, 121, 167], // purple
]).map(toLab);

/** The same for things without an order: neighbours in the list differ most. -1 is grey. */
const TURNS = [5, 1, 3, 6, 0, 4, 2, -1];
const SHIFTS = [0, -0.15, 0.13];
const GREY = toLab([96, 98, 106]); // darker than purple, which looks grey to some

/**
 * What a color may be so that it stands out from the background. A yellow that is any darker is an
 * orange to those who see no green.
 */
const LIGHTNESS = { light: [0.32, 0.86], dark: [0.52, 0.9] };
const MISSING = { light: [196, 198, 204], dark: [88, 92, 102] };
/** Lightness of neighbours of one branch: their hues are too near to tell them apart alone. */
const SIBLINGS = [0, -0.1, 0.08];

/** @type {Map<Theme, WeakMap<any, Rgb[]>>} */
const known = new Map([
  ["light", new WeakMap()],
  ["dark", new WeakMap()],
]);

function seen(lab, theme) {
  const [low, high] = LIGHTNESS[theme];
  return fromLab([Math.min(high, Math.max(low, lab[0])), lab[1], lab[2]]);
}

/** The color at a place of the wheel, 0..1 around. */
function onWheel(place) {
  const at = (place - Math.floor(place)) * WHEEL.length;
  const first = Math.floor(at) % WHEEL.length;
  return between(WHEEL[first], WHEEL[(first + 1) % WHEEL.length], at - Math.floor(at));
}

/**
 * The theme that is shown.
 * @param {{theme?: string}} state
 * @returns {Theme}
 */
export function resolveTheme(state) {
  if (state.theme === "light" || state.theme === "dark") return state.theme;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/**
 * n colors for things without an order; 24 different ones, then again.
 * @param {number} n
 * @param {Theme} theme
 * @returns {Rgb[]}
 */
export function categorical(n, theme) {
  return Array.from({ length: n }, (_, i) => {
    const turn = TURNS[i % TURNS.length];
    const [lightness, a, b] = turn < 0 ? GREY : WHEEL[turn];
    const shift = SHIFTS[Math.floor(i / TURNS.length) % SHIFTS.length];
    return seen([lightness + shift, a, b], theme);
  });
}

/**
 * 256 colors from low to high: lightness grows evenly from violet over teal to yellow.
 * @param {Theme} theme
 * @returns {Rgb[]}
 */
export function continuous(theme) {
  const [low, high] = theme === "light" ? [0.28, 0.84] : [0.4, 0.92];
  return Array.from({ length: 256 }, (_, i) => {
    const t = i / 255;
    return fromLab(polar(low + (high - low) * t, 0.12 + 0.03 * t, 300 - 195 * t));
  });
}

/** Children of every node of a tree given by parents. */
function childrenOf(parents) {
  const children = parents.map(() => []);
  parents.forEach((parent, node) => parent >= 0 && children[parent].push(node));
  return children;
}

/** The place of every topic on the wheel (a Map), so that near relations are neighbours there. */
function places(tree) {
  const children = childrenOf(tree.parents);
  const leaves = tree.parents.map(() => 0);
  const order = []; // parents before children
  const stack = tree.parents.flatMap((parent, node) => (parent < 0 ? [node] : [])).reverse();
  while (stack.length) {
    const node = stack.pop();
    order.push(node);
    stack.push(...[...children[node]].reverse());
  }
  for (const node of [...order].reverse()) {
    leaves[node] = children[node].reduce((sum, child) => sum + leaves[child], 0) || 1;
  }
  const spans = new Map();
  const roots = order.filter((node) => tree.parents[node] < 0);
  share(roots, [0, 1], leaves, spans);
  for (const node of order) share(children[node], spans.get(node), leaves, spans);
  const spots = new Map();
  let turn = 0;
  for (const node of order) {
    const topic = tree.components[node];
    if (children[node].length || topic === null || topic === undefined) continue;
    const [low, high] = spans.get(node);
    spots.set(topic, { place: (low + high) / 2, turn: turn++ });
  }
  return spots;
}

/** Splits a span among nodes by their leaves; between branches a tenth stays free. */
function share(nodes, [low, high], leaves, spans) {
  const total = nodes.reduce((sum, node) => sum + leaves[node], 0);
  let from = low;
  for (const node of nodes) {
    const to = from + ((high - low) * leaves[node]) / total;
    const gap = nodes.length > 1 ? 0.05 * (to - from) : 0;
    spans.set(node, [from + gap, to - gap]);
    from = to;
  }
}

/**
 * The colors of the final topics: those of one branch of the tree have related hues.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {Theme} theme
 * @returns {Rgb[]}
 */
export function topicColors(data, theme) {
  const memory = known.get(theme);
  if (memory.has(data)) return memory.get(data);
  const { tree, n_topics: n } = data.meta;
  const colors = categorical(Math.max(n, 1), theme);
  if (tree) {
    for (const [topic, { place, turn }] of places(tree)) {
      const [lightness, a, b] = onWheel(place);
      const shift = n > WHEEL.length ? SIBLINGS[turn % SIBLINGS.length] : 0;
      if (topic < n) colors[topic] = seen([lightness + shift, a, b], theme);
    }
  }
  memory.set(data, colors);
  return colors;
}

/**
 * The colors of the topics of a stage: each is the mix of what came of it, so colors part as
 * topics do.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {number} stage
 * @param {Theme} theme
 * @returns {Rgb[]}
 */
export function stageColors(data, stage, theme) {
  const finals = topicColors(data, theme);
  const { stages, topics } = data.meta;
  if (!stages.length || !stages[stage] || stage >= stages.length - 1) return finals;
  const missing = /** @type {Rgb} */ ([...MISSING[theme]]);
  return stages[stage].topics.map((topic) => {
    let weight = 0;
    const sum = [0, 0, 0];
    for (const k of topic.finals) {
      const size = Math.max(topics[k]?.size ?? 0, 1e-6);
      toLab(finals[k] ?? missing).forEach((c, i) => (sum[i] += c * size));
      weight += size;
    }
    if (!weight) return missing;
    const [lightness, a, b] = sum.map((c) => c / weight);
    const lost = Math.min(3, 0.09 / Math.max(Math.hypot(a, b), 1e-6)); // mixing takes color away
    return seen([lightness, a * Math.max(1, lost), b * Math.max(1, lost)], theme);
  });
}

/**
 * How the map is colored at present.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {{color: string, stage: number}} state
 * @param {Theme} theme
 * @returns {Coloring}
 */
export function coloring(data, state, theme) {
  const missing = /** @type {Rgb} */ ([...MISSING[theme]]);
  const column = columnOf(data, state.color);
  if (column?.kind === "number") {
    return { kind: "number", colors: continuous(theme), names: [], missing, column };
  }
  if (column) {
    const names = column.categories;
    return { kind: "category", colors: categorical(names.length, theme), names, missing, column };
  }
  const stage = Math.round(state.stage);
  const colors = stageColors(data, stage, theme);
  const names = data.topicsAt(stage).map((topic) => topic.name);
  return { kind: "category", colors, names, missing, column: null };
}

/**
 * The entry of meta.columns that "column:3" means.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {string} choice
 * @returns {import("../data/format.js").Column|null} null for "topic" and "none"
 */
export function columnOf(data, choice) {
  const match = /^column:(\d+)$/.exec(choice ?? "");
  return match ? (data.meta.columns[Number(match[1])] ?? null) : null;
}

/**
 * A color for CSS and canvases.
 * @param {Rgb} rgb
 * @param {number} [alpha]
 * @returns {string}
 */
export function css([r, g, b], alpha = 1) {
  return `rgba(${r}, ${g}, ${b}, ${alpha})`;
}

/**
 * The color of text that is read best on a background.
 * @param {Rgb} background
 * @returns {string}
 */
export function textOn(background) {
  return toLab(background)[0] > 0.62 ? "#14161a" : "#ffffff";
}
