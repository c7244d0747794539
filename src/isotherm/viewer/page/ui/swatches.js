// Colours as the panels need them: CSS, remembered until theme or stage change.

import { colouring, css, stageColours, topicColours } from "./colours.js";
import { h } from "./dom.js";

let memory = { data: null, dark: null, tables: new Map() };

function table(data, dark, stage) {
  if (memory.data !== data || memory.dark !== dark) memory = { data, dark, tables: new Map() };
  if (!memory.tables.has(stage)) {
    const theme = dark ? "dark" : "light";
    const colours =
      stage >= data.lastStage ? topicColours(data, theme) : stageColours(data, stage, theme);
    memory.tables.set(
      stage,
      Array.from(colours, (colour) => css(colour)),
    );
  }
  return memory.tables.get(stage);
}

/**
 * The colour of a topic at a stage.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").State} state
 * @param {number} k
 * @param {number} [stage] the final model unless said
 * @returns {string} CSS
 */
export function topicColour(data, state, k, stage = data.lastStage) {
  return table(data, state.dark, stage)[k] ?? "currentColor";
}

/**
 * The present colouring, with CSS colours.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").State} state
 * @returns {{kind: string, colours: string[], names: string[], missing: string,
 *   column: import("../data/format.js").Column|null}}
 */
export function presentColouring(data, state) {
  const present = colouring(data, state, state.dark ? "dark" : "light");
  return {
    ...present,
    colours: Array.from(present.colours, (one) => css(one)),
    missing: css(present.missing),
  };
}

/** @param {string} colour @returns {HTMLElement} a dot of that colour */
export function dot(colour) {
  return h("span.dot", { vars: { c: colour }, "aria-hidden": "true" });
}

/**
 * A button that names a topic with its dot.
 * @param {string} colour
 * @param {string} name
 * @param {() => void} onclick
 * @param {string} [share]
 */
export function topicChip(colour, name, onclick, share) {
  return h(
    "button.chip",
    { type: "button", onclick },
    dot(colour),
    h("span.name", { text: name }),
    share ? h("span.share", { text: share }) : null,
  );
}
