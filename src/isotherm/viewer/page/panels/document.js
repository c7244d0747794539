/** The document that is open: title, fields, topics, and its text colored by topics. */

import { h, put, count, percent, reason, iconButton, within } from "../ui/dom.js";
import { barList } from "../ui/bars.js";
import { highlightedBy, highlightedList } from "../state/highlight.js";
import { topicColor, topicChip } from "../ui/swatches.js";
import { chooseFinalTopic, chooseWord, walk } from "../state/actions.js";
import { rounded } from "../data/values.js";
import { passage, pieces, topicsOfWord } from "../ui/colored_text.js";

const FIRST = 20000; // letters shown of a long text until the reader asks for the rest

/** A title that may break after dots, slashes and underscores, as dotted names should. */
function breakable(title) {
  return title.split(/(?<=[._/\\])/u).flatMap((part, at) => (at ? [h("wbr"), part] : [part]));
}

/**
 * Fills the panel of the document.
 * @param {HTMLElement} element
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 * @param {import("../data/source.js").Source} source
 */
export function createDocument(element, data, store, source) {
  const { nouns } = data;
  const worded = data.meta.live || data.has("texts") || data.has("words"); // points have no texts
  let loaded = null;
  let whole = false;
  element.addEventListener("click", (event) => {
    const word = within(event, ".w");
    if (word) chooseWord(store, Number(word.dataset.word));
  });

  function empty() {
    put(
      element,
      h(
        "div.empty",
        null,
        h("p", { text: `No ${nouns.row} is open.` }),
        h("p.quiet", { text: `Click a point in the map, or a title in any list.` }),
      ),
    );
  }

  function navigation() {
    const list = highlightedBy(store.state) ? highlightedList(data, store.state) : null;
    const at = list ? list.indexOf(store.state.document) : store.state.document;
    const total = list ? list.length : data.n;
    const step = (by) => walk(store, list ?? highlightedList(data, store.state), by);
    return h(
      "div.tool-row",
      null,
      iconButton(`Previous ${nouns.row} (p)`, "M15 5l-7 7 7 7", { onclick: () => step(-1) }),
      h("span.quiet", {
        text:
          at < 0
            ? `not among the ${count(total)} lit`
            : `${count(at + 1)} of ${count(total)}${list ? " lit" : ""}`,
      }),
      iconButton(`Next ${nouns.row} (n)`, "M9 5l7 7-7 7", { onclick: () => step(1) }),
      h("span.grow"),
      h("button.plain", {
        type: "button",
        text: "Close",
        onclick: () => store.set({ document: -1 }),
      }),
    );
  }

  function fields(opened) {
    const entries = Object.entries(opened?.fields ?? {}).filter(
      ([, value]) => value !== null && value !== undefined && value !== "",
    );
    if (!entries.length) return null;
    return h(
      "dl.fields",
      null,
      entries.map(([name, value]) =>
        h("div", null, h("dt", { text: name }), h("dd", { text: written(name, value) })),
      ),
    );
  }

  function written(name, value) {
    if (typeof value !== "number") return String(value);
    const column = data.meta.columns.find((one) => one.name === name);
    if (data.meta.live || column?.kind !== "number") return String(Number(value.toPrecision(9)));
    return rounded(column, value);
  }

  function topicBars(topics) {
    if (!topics.length) return null;
    const most = Math.max(...topics.map(([, p]) => p));
    return h(
      "section",
      null,
      h("h3", { text: nouns.components.charAt(0).toUpperCase() + nouns.components.slice(1) }),
      barList(
        topics.map(([k, p]) => ({
          name: data.topics[k]?.name ?? "",
          value: p,
          most,
          text: percent(p),
          color: topicColor(data, store.state, k),
          onclick: () => chooseFinalTopic(store, data, k),
        })),
        6,
        "wide",
      ),
    );
  }

  function body(opened, topics) {
    const { state } = store;
    if (!opened) return h("p.quiet", { text: "Opening …" });
    if (opened.failed) return h("p.quiet", { text: opened.failed });
    if (opened.text === null || opened.text === undefined) {
      return h("p.quiet", {
        text: data.meta.live ? "The run has kept no texts." : "The text is not in this file.",
      });
    }
    if (!opened.text.trim()) return h("p.quiet", { text: `This ${nouns.row} has no text.` });
    const own = new Map(topics);
    const text = whole ? opened.text : opened.text.slice(0, FIRST);
    const parts = pieces(
      text,
      (word) => data.wordId(word),
      (w) => topicsOfWord(data.spread(w), own, data.topics),
    );
    const used = new Map();
    for (const part of parts)
      if (part.word >= 0) used.set(part.topics[0][0], (used.get(part.topics[0][0]) ?? 0) + 1);
    const name = (k) => data.topics[k]?.name ?? "";
    const asked = new Set((state.matches?.known ?? []).map((word) => data.wordId(word)));
    const legend = [...used].sort((a, b) => b[1] - a[1]).slice(0, 6);
    return [
      legend.length
        ? h(
            "div.chips.passage-legend",
            null,
            legend.map(([k]) =>
              topicChip(topicColor(data, state, k), name(k), () =>
                chooseFinalTopic(store, data, k),
              ),
            ),
          )
        : null,
      opened.whole === false ? h("p.quiet", { text: "Only the opening is in this file." }) : null,
      passage(parts, {
        color: (k) => topicColor(data, state, k),
        name,
        chosen: state.word,
        asked,
      }),
      text.length < opened.text.length
        ? h("button.plain", {
            type: "button",
            text: `Show the other ${count(opened.text.length - text.length)} characters`,
            onclick: () => {
              whole = true;
              draw();
            },
          })
        : null,
    ];
  }

  function draw() {
    const { state } = store;
    if (state.tab !== "document") return;
    const i = state.document;
    if (i < 0) return empty();
    const opened = loaded?.index === i ? loaded : null;
    const topics = (opened?.topics?.length ? opened.topics : data.topicsOf(i)).filter(
      ([k, p]) => data.topics[k] && Number.isFinite(p),
    );
    put(
      element,
      navigation(),
      h("h2.document-title", { dir: "auto" }, breakable(opened?.title || data.title(i))),
      fields(opened),
      topicBars(topics),
      worded ? h("section", null, h("h3", { text: "Text" }), body(opened, topics)) : null,
    );
    return undefined;
  }

  async function load() {
    const i = store.state.document;
    if (i < 0 || loaded?.index === i) return;
    whole = false;
    let opened;
    try {
      opened = await source.document(i);
    } catch (error) {
      opened = { index: i, failed: reason(error), topics: [], fields: {} };
    }
    if (store.state.document !== i) return;
    loaded = { ...opened, index: i };
    draw();
  }

  store.on(["document"], () => {
    element.scrollTop = 0;
    load();
  });
  store.on(
    ["document", "tab", "dark", "word", "matches", "selected", "node", "topic", "stage", "arrived"],
    draw,
  );
  draw();
}
