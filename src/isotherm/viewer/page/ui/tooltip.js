/** What is under the pointer: title, topics, the first words. */

import { h, put, later } from "./dom.js";
import { topicsLine } from "./doclist.js";

const SNIPPET = 180;

/**
 * Keeps the tooltip at the document that the pointer is on.
 * @param {HTMLElement} element
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 * @param {import("../map/map.js").MapView} map
 * @param {import("../data/source.js").Source} source
 */
export function createTooltip(element, data, store, map, source) {
  const snippets = new Map();

  const fetchSnippet = later(
    async (i) => {
      if (snippets.has(i) || i !== store.state.hover) return;
      const opened = await source.document(i).catch(() => null);
      if (snippets.size > 500) snippets.clear();
      snippets.set(i, (opened?.text ?? "").replace(/\s+/g, " ").trim().slice(0, SNIPPET));
      if (i === store.state.hover) draw();
    },
    data.meta.live ? 120 : 0,
  );

  function column(i) {
    const { color } = store.state;
    if (!color.startsWith("column:")) return null;
    const c = Number(color.slice(7));
    const value = data.value(c, i);
    return h(
      "p.tip-field",
      null,
      h("span", { text: `${data.meta.columns[c].name}: ` }),
      h("b", { text: value || "not known" }),
    );
  }

  function draw() {
    const i = store.state.hover;
    if (i < 0) {
      element.hidden = true;
      return;
    }
    const title = data.title(i);
    let snippet = snippets.get(i) ?? "";
    if (snippet.startsWith(title)) snippet = snippet.slice(title.length).trim();
    put(
      element,
      h("strong", { dir: "auto", text: title }),
      column(i),
      h("p.tip-topics", null, topicsLine(data, store.state, i, 3)),
      snippet
        ? h("p.tip-text", {
            text: snippet.length >= SNIPPET - title.length - 1 ? `${snippet} …` : snippet,
          })
        : null,
    );
    place(i);
    if (!snippets.has(i)) fetchSnippet(i);
  }

  function place(i) {
    const at = map.project(i);
    element.hidden = !at || !at.visible;
    if (element.hidden) return;
    const stage = element.parentElement.getBoundingClientRect();
    const inside = document.getElementById("map").getBoundingClientRect();
    const box = element.getBoundingClientRect();
    const x = at.x + inside.left - stage.left;
    const y = at.y + inside.top - stage.top;
    const left = x + 14 + box.width > stage.width ? x - 14 - box.width : x + 14;
    const top = y + 14 + box.height > stage.height ? y - 14 - box.height : y + 14;
    element.style.transform = `translate(${Math.max(4, Math.min(left, stage.width - box.width - 4))}px, ${Math.max(4, top)}px)`;
  }

  store.on(["hover", "arrived", "dark"], draw);
  store.on(["map", "stage"], () => (element.hidden = true));
}
