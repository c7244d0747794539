/**
 * What is highlighted, in words above every panel, with what one can do with it; and what it is
 * made of.
 */

import { h, put, count, percent, download, iconButton } from "../ui/dom.js";
import { highlightedBy, highlightMask, highlightedList } from "../state/highlight.js";
import { barList, comparing } from "../ui/bars.js";
import { shares, tellingWords } from "../data/shares.js";
import { topicColor } from "../ui/swatches.js";
import { chooseTopic, chooseWord } from "../state/actions.js";
import { createDocumentList } from "../ui/doclist.js";
import { MOST } from "./search.js";
import { createWordCard } from "./word.js";

/** @typedef {import("../data/format.js").CategoryColumn} Categories */

const ICONS = {
  zoom: "M10 4a6 6 0 100 12 6 6 0 000-12zM14.5 14.5L20 20M10 7.5v5M7.5 10h5",
  save: "M12 4v11M7 11l5 5 5-5M4 20h16",
  clear: "M6 6l12 12M18 6L6 18",
};

/**
 * Fills the strip above the panels.
 * @param {HTMLElement} element
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 * @param {import("../map/map.js").MapView} map
 */
export function createHighlightBar(element, data, store, map) {
  const { nouns } = data;
  const summary = h("p.lit-told");
  const inside = h("div.lit-inside", { id: "lit-inside" });
  const more = h("button.plain", {
    type: "button",
    text: "What is in it",
    "aria-expanded": "false",
    "aria-controls": "lit-inside",
    onclick: () => open(inside.hidden),
  });
  const bar = h(
    "div.lit-bar",
    null,
    h("div.lit-what", null, summary, more),
    iconButton("Zoom to it (f)", ICONS.zoom, {
      onclick: () => map.zoomTo(highlightedList(data, store.state)),
    }),
    iconButton("Save the list as CSV", ICONS.save, { onclick: save }),
    iconButton("Let go (Esc)", ICONS.clear, {
      onclick: () => store.set({ matches: null, query: "", selected: null, node: -1, topic: -1 }),
    }),
  );
  const documents = createDocumentList(data, store, `Selected ${nouns.rows}`);
  const word = h("div.word-place");
  put(element, bar, inside, word);
  createWordCard(word, data, store);

  function why() {
    const { state } = store;
    const by = highlightedBy(state);
    if (by === "matches")
      return state.matches.hits.length < MOST ? "found" : "found, the best of them";
    if (by === "selected") return "selected in the map";
    if (by === "node") return `below ${nodeName(data, state.node)}`;
    return `of “${data.topicsAt(state.stage)[state.topic]?.name ?? ""}”`;
  }

  function open(yes) {
    inside.hidden = !yes;
    more.setAttribute("aria-expanded", String(yes));
    if (yes) compose();
  }

  function save() {
    const list = highlightedList(data, store.state);
    const lines = [`number,title${data.topics.length ? `,${nouns.component}` : ""}`];
    for (const i of list) {
      const topic = data.topicOf(i);
      lines.push(
        [
          i + 1,
          field(data.title(i)),
          ...(topic >= 0 ? [field(data.topics[topic]?.name ?? "")] : []),
        ].join(","),
      );
    }
    download(`${nouns.rows}.csv`, lines.join("\r\n") + "\r\n", "text/csv");
  }

  function compose() {
    const { state } = store;
    const list = highlightedList(data, state);
    const codes = data.codesAt(state.stage);
    const topics = data.topicsAt(state.stage);
    const parts = [];
    if (codes && topics.length) {
      const mixture = shares(codes, topics.length, list);
      parts.push(
        comparing(`Strongest ${nouns.components}`),
        bars(
          mixture.map((one) => ({
            ...one,
            name: topics[one.code].name,
            color: topicColor(data, state, one.code, state.stage),
            onclick: () => chooseTopic(store, one.code),
          })),
        ),
      );
      const telling = tellingWords(topics, mixture, 12);
      if (telling.length) {
        parts.push(
          h("h3", { text: `${nouns.columns} that stand out` }),
          h(
            "p.words",
            null,
            telling.map(({ word: text, ratio }) =>
              h("button.plain.word", {
                type: "button",
                text,
                title: `${ratio.toFixed(1)} times as frequent as in the whole collection`,
                onclick: () => chooseWord(store, data.wordId(text)),
              }),
            ),
          ),
        );
      }
    }
    const c = data.firstLabels;
    if (c >= 0) {
      const column = /** @type {Categories} */ (data.meta.columns[c]);
      const mixture = shares(data.points.array(`column${c}`), column.categories.length, list);
      if (mixture.length) {
        parts.push(
          comparing(column.name),
          bars(mixture.map((one) => ({ ...one, name: column.categories[one.code] }))),
        );
      }
    }
    if (highlightedBy(state) === "selected")
      parts.push(h("h3", { text: nouns.rows }), documents.element);
    put(inside, parts);
    documents.show(list);
  }

  function bars(mixture) {
    const most = Math.max(...mixture.map((one) => Math.max(one.share, one.base)));
    return barList(
      mixture.map((one) => ({
        ...one,
        value: one.share,
        most,
        text: percent(one.share),
        title: `${one.name}: ${count(one.count)} (${percent(one.share)}; in the whole collection ${percent(one.base)})`,
      })),
      5,
      "wide",
    );
  }

  let before = null;
  function draw() {
    const { count: highlighted, by } = highlightMask(data, store.state);
    bar.hidden = !by;
    const text = by ? `${count(highlighted)} of ${count(data.n)} ${nouns.rows} ${why()}` : "";
    summary.textContent = text;
    const live = document.getElementById("live");
    if (live.textContent !== text) live.textContent = text || `All ${count(data.n)} ${nouns.rows}`;
    if (by === "selected" && before !== "selected") open(true);
    else if (!by || by === "topic") open(false);
    else if (!inside.hidden) compose();
    more.hidden = by === "topic" || !highlighted;
    before = by;
  }
  store.on(["matches", "selected", "node", "topic", "stage", "arrived", "dark"], draw);
  open(false);
  draw();
  document.getElementById("live").textContent = "";
}

/**
 * A node of the tree in a few words.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {number} node
 * @returns {string}
 */
export function nodeName(data, node) {
  const topic = data.tree.components[node];
  if (topic !== null && data.topics[topic]) return `“${data.topics[topic].name}”`;
  const words = (data.tree.words[node] ?? []).slice(0, 3).map(([word]) => word);
  return words.length ? `“${words.join(" ")}”` : node === 0 ? "the root" : `node ${node}`;
}

/** A field of CSV; one that a table would take for a formula is kept a text. */
function field(text) {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}
