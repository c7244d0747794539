/** Colors as the panels need them: CSS, remembered until theme or stage change. */

import { coloring, css, stageColors, topicColors } from "./colors.js";
import { h } from "./dom.js";

let memory = { data: null, dark: null, tables: new Map() };

function table(data, dark, stage) {
  if (memory.data !== data || memory.dark !== dark) memory = { data, dark, tables: new Map() };
  if (!memory.tables.has(stage)) {
    const theme = dark ? "dark" : "light";
    const colors =
      stage >= data.lastStage ? topicColors(data, theme) : stageColors(data, stage, theme);
    memory.tables.set(
      stage,
      Array.from(colors, (color) => css(color)),
    );
  }
  return memory.tables.get(stage);
}

/**
 * The color of a topic at a stage.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").State} state
 * @param {number} k
 * @param {number} [stage] the final model unless said
 * @returns {string} CSS
 */
export function topicColor(data, state, k, stage = data.lastStage) {
  return table(data, state.dark, stage)[k] ?? "currentColor";
}

/**
 * The present coloring, with CSS colors.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").State} state
 * @returns {{kind: string, colors: string[], names: string[], missing: string,
 *   column: import("../data/format.js").Column|null}}
 */
export function presentColoring(data, state) {
  const present = coloring(data, state, state.dark ? "dark" : "light");
  return {
    ...present,
    colors: Array.from(present.colors, (one) => css(one)),
    missing: css(present.missing),
  };
}

/** @param {string} color @returns {HTMLElement} a dot of that color */
export function dot(color) {
  return h("span.dot", { vars: { c: color }, "aria-hidden": "true" });
}

/**
 * A button that names a topic with its dot.
 * @param {string} color
 * @param {string} name
 * @param {() => void} onclick
 * @param {string} [share]
 */
export function topicChip(color, name, onclick, share) {
  return h(
    "button.chip",
    { type: "button", onclick },
    dot(color),
    h("span.name", { text: name }),
    share ? h("span.share", { text: share }) : null,
  );
}
