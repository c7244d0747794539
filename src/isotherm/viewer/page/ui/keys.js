/** Keys that work anywhere on the page; help.js tells them to the reader. */

import { dismiss, showStage, walk } from "../state/actions.js";
import { highlightedBy, highlightedList } from "../state/highlight.js";
import { within } from "./dom.js";
import { helpIsOpen, openHelp } from "./help.js";

const THEMES = { auto: "light", light: "dark", dark: "auto" };

const TYPED =
  'input:not([type="checkbox"]):not([type="range"]), textarea, select, [contenteditable]';

/**
 * Listens to the keys.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 * @param {import("../map/map.js").MapView} map
 * @param {{tabs: string[]}} layout
 */
export function createKeys(data, store, map, layout) {
  const colors = [
    ...(data.topics.length ? ["topic"] : []),
    ...data.meta.columns.map((_, c) => `column:${c}`),
  ];

  const does = {
    "/": () => {
      store.set({ tab: "search" });
      store.flush();
      document.getElementById("query").focus();
    },
    "?": () => openHelp(data),
    n: () => walk(store, highlightedList(data, store.state), 1),
    p: () => walk(store, highlightedList(data, store.state), -1),
    "[": () => showStage(store, data, store.state.stage - 1),
    "]": () => showStage(store, data, store.state.stage + 1),
    f: () =>
      highlightedBy(store.state) ? map.zoomTo(highlightedList(data, store.state)) : map.reset(),
    0: () => map.reset(),
    m: () => store.set({ mode: "move" }),
    b: () => store.set({ mode: "box" }),
    l: () => store.set({ mode: "lasso" }),
    c: () =>
      colors.length &&
      store.set({ color: colors[(colors.indexOf(store.state.color) + 1) % colors.length] }),
    t: () => store.set({ theme: THEMES[store.state.theme] }),
    " ": () => data.stages.length > 1 && store.set({ playing: !store.state.playing }),
  };
  layout.tabs.forEach(
    (tab, at) =>
      (does[String(at + 1)] = () => {
        store.set({ tab });
        document.getElementById(`tab-${tab}`).focus();
      }),
  );

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || helpIsOpen())
      return;
    if (event.key === "Escape") {
      within(event, TYPED)?.blur();
      /** @type {HTMLElement|null} */
      const folding = document.querySelector("#bar .fold");
      if (document.body.hasAttribute("data-tools")) folding.click();
      else dismiss(store);
      return;
    }
    if (within(event, TYPED)) return;
    if (event.key === " " && within(event, "button, a, input, summary")) return;
    const act = does[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
