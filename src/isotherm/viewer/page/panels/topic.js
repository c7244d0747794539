/** One topic: words that tell, by probability and lift, its kin, its labels, its documents. */

import { h, put, percent, short, count } from "../ui/dom.js";
import { byRelevance, wordsOf } from "../data/relevance.js";
import { barList, comparing } from "../ui/bars.js";
import { createDocumentList } from "../ui/doclist.js";
import { shares } from "../data/shares.js";
import { topicColor, topicChip, dot } from "../ui/swatches.js";
import { chooseTopic, chooseFinalTopic, chooseNode, chooseWord } from "../state/actions.js";
import { capital } from "../ui/layout.js";
import { foundAgain } from "../data/reproducibility.js";

/** @typedef {import("../data/format.js").CategoryColumn} Categories */

const MOST_WORDS = 20;

/**
 * The detail of the topic that the state has open.
 * @param {HTMLElement} element
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 * @param {ReturnType<typeof import("./edit.js").createEditing>} editing
 * @returns {{show: () => void}}
 */
export function createTopic(element, data, store, editing) {
  const { nouns } = data;
  /** @type {number|null} */
  let relevance = null; // as the words come: the most telling first
  const words = h("div");
  const slider = h("input", {
    type: "range",
    min: "0",
    max: "1",
    step: "0.05",
    value: "1",
    id: "relevance",
    oninput: () => orderBy(Number(slider.value)),
  });
  const telling = h("button.plain", {
    type: "button",
    text: "telling",
    title: `${capital(nouns.columns)} that tell this ${nouns.component} from others first`,
    "aria-pressed": "true",
    onclick: () => orderBy(null),
  });
  const order = h(
    "div.relevance",
    null,
    telling,
    h("label", { for: "relevance", text: "frequent" }),
    slider,
    h("span", { text: "its own" }),
  );
  const documents = createDocumentList(
    data,
    store,
    `${capital(nouns.rows)} of this ${nouns.component}`,
  );
  const head = h("div");
  const kin = h("div");
  const titles = h("h3");
  put(
    element,
    head,
    editing?.element,
    h("section", null, h("h3", { text: capital(nouns.columns) }), order, words),
    kin,
    h("section", null, titles, documents.element),
  );
  slider.setAttribute("aria-label", `Order of ${nouns.columns}: 1 by probability, 0 by lift`);
  slider.dir = "rtl"; // the left end is probability, where one starts to read

  const topic = () => data.topicsAt(store.state.stage)[store.state.topic];

  function orderBy(value) {
    relevance = value;
    telling.setAttribute("aria-pressed", String(value === null));
    drawWords();
  }

  function drawHead(one, color) {
    const { state } = store;
    const here = data.codesAt(state.stage)
      ? data.documentsOfTopic(state.topic, state.stage).length
      : null;
    const node = state.stage >= data.lastStage ? data.nodeOf(state.topic) : -1;
    put(
      head,
      h(
        "header.topic-title",
        null,
        h(
          "div.tool-row",
          null,
          h("button.plain", {
            type: "button",
            text: `← All ${nouns.components}`,
            onclick: () => chooseTopic(store, -1),
          }),
          h("span.grow"),
          node >= 0
            ? h("button.plain", {
                type: "button",
                text: "In the tree",
                onclick: () => {
                  chooseNode(store, node);
                  store.set({ tab: "tree" });
                },
              })
            : null,
        ),
        h("h2", null, dot(color), h("span", { text: one.name })),
        h("p.quiet", {
          text: [
            `${percent(one.size)} of all ${nouns.columns}`,
            here === null
              ? null
              : `strongest in ${count(here)} ${here === 1 ? nouns.row : nouns.rows}`,
            Number.isFinite(one.coherence) ? `coherence ${short(one.coherence)}` : null,
            foundAgain(one.reproducibility),
          ]
            .filter(Boolean)
            .join(" · "),
        }),
      ),
    );
  }

  function drawWords() {
    const one = topic();
    if (!one) return;
    order.hidden = !one.words.some(([, p]) => Number.isFinite(p));
    const { state } = store;
    const ordered = byRelevance(wordsOf(data, one), relevance).slice(0, MOST_WORDS);
    const color = topicColor(data, state, state.topic, state.stage);
    // Between the two ends bars show what weighs more.
    const byLift = relevance !== null && relevance < 0.5;
    const value = (word) => (byLift ? word.lift : word.p) || 0;
    const most = Math.max(...ordered.map(value), 1e-12);
    put(
      words,
      barList(
        ordered.map((word) => {
          const w = data.wordId(word.word);
          return {
            name: word.word,
            value: value(word),
            most,
            color,
            pressed: w >= 0 && w === state.word,
            text: byLift ? `× ${short(word.lift)}` : Number.isFinite(word.p) ? percent(word.p) : "",
            title: Number.isFinite(word.p)
              ? `${word.word}: ${percent(word.p)} of the ${nouns.component}, ${short(word.lift)} times as frequent as overall`
              : word.word,
            onclick: w >= 0 ? () => chooseWord(store, w) : undefined,
          };
        }),
        MOST_WORDS,
      ),
    );
  }

  function drawKin(one) {
    const { state } = store;
    const parts = [];
    const similar = (one.similar ?? []).filter(([k]) => data.topics[k]);
    if (similar.length) {
      parts.push(
        h("h3", { text: `Similar ${nouns.components}` }),
        h(
          "div.chips",
          null,
          similar.map(([k, value]) =>
            topicChip(
              topicColor(data, state, k),
              data.topics[k].name,
              () => chooseTopic(store, k),
              short(value),
            ),
          ),
        ),
      );
    }
    if (state.stage < data.lastStage && one.finals?.length) {
      parts.push(
        h("h3", { text: `What came of it (${one.finals.length})` }),
        h(
          "div.chips",
          null,
          one.finals
            .slice(0, 40)
            .map((k) =>
              topicChip(topicColor(data, state, k), data.topics[k]?.name ?? "", () =>
                chooseFinalTopic(store, data, k),
              ),
            ),
        ),
      );
    }
    parts.push(...labels());
    put(kin, h("section", null, parts));
  }

  function labels() {
    const { state } = store;
    const c = data.firstLabels;
    if (c < 0 || !data.codesAt(state.stage)) return [];
    const column = /** @type {Categories} */ (data.meta.columns[c]);
    const mixture = shares(
      data.points.array(`column${c}`),
      column.categories.length,
      data.documentsOfTopic(state.topic, state.stage),
    );
    if (!mixture.length) return [];
    const most = Math.max(...mixture.map((label) => Math.max(label.share, label.base)));
    return [
      comparing(column.name),
      barList(
        mixture.map((label) => ({
          name: column.categories[label.code],
          value: label.share,
          base: label.base,
          most,
          text: percent(label.share),
          title: `${column.categories[label.code]}: ${count(label.count)} here; ${percent(label.base)} of all ${nouns.rows}`,
        })),
        6,
      ),
    ];
  }

  function show() {
    const one = topic();
    if (!one) return;
    const { state } = store;
    drawHead(one, topicColor(data, state, state.topic, state.stage));
    editing?.show();
    drawWords();
    drawKin(one);
    const list = data.codesAt(state.stage)
      ? data.documentsOfTopic(state.topic, state.stage)
      : new Uint32Array();
    titles.textContent = list.length
      ? `${capital(nouns.rows)}${state.stage >= data.lastStage ? ", the most typical first" : ""}`
      : `Strongest in no ${nouns.row}`;
    documents.element.hidden = !list.length;
    documents.show(list);
  }
  store.on("word", () => store.state.tab === "topics" && drawWords());
  return { show };
}
