/**
 * The topics of the stage shown, as a list that can be sorted and searched; one of them in detail.
 */

import { h, put, percent, short, count } from "../ui/dom.js";
import { createList } from "../ui/list.js";
import { createTopic } from "./topic.js";
import { createEditing } from "./edit.js";
import { topicColor, dot } from "../ui/swatches.js";
import { chooseTopic } from "../state/actions.js";
import { capital } from "../ui/layout.js";
import { foundAgain, reproducible, SOLID } from "../data/reproducibility.js";

const ORDERS = {
  size: (topics) => (a, b) => topics[b].size - topics[a].size,
  coherence: (topics) => (a, b) =>
    (topics[b].coherence ?? -Infinity) - (topics[a].coherence ?? -Infinity),
  name: (topics) => (a, b) => topics[a].name.localeCompare(topics[b].name),
};

/** The first words that its name does not tell already. */
function otherWords(topic) {
  const named = new Set(topic.name.split(/[,\s]+/));
  return topic.words
    .map(([word]) => word)
    .filter((word) => !named.has(word))
    .slice(0, 8);
}

/**
 * Fills the panel of topics.
 * @param {HTMLElement} element
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 * @param {import("../data/source.js").Source} source
 */
export function createTopics(element, data, store, source) {
  if (!data.topics.length) return;
  const { nouns } = data;
  let shown = [];
  const coherent = data.topics.some((topic) => Number.isFinite(topic.coherence));
  const order = h(
    "select",
    { "aria-label": "Order", onchange: () => fill() },
    h("option", { value: "size", text: "by weight" }),
    coherent ? h("option", { value: "coherence", text: "by coherence" }) : null,
    h("option", { value: "name", text: "by name" }),
  );
  const filter = h("input", {
    type: "search",
    placeholder: `Find a ${nouns.component}`,
    "aria-label": `Find a ${nouns.component} by its ${nouns.columns}`,
    oninput: () => fill(),
  });
  const note = h("p.quiet");
  const list = createList({
    label: capital(nouns.components),
    height: 3.4,
    row: (at) => row(shown[at]),
    choose: (at) => chooseTopic(store, shown[at]),
  });
  const all = h("div.topics-all", null, h("div.tool-row", null, filter, order), note, list.element);
  const one = h("div.topic-one");
  const editing = createEditing(data, store, source);
  const pinned = new Set(data.meta.editing?.pinned);
  put(element, editing?.last, all, one);
  const detail = createTopic(one, data, store, editing);

  function row(k) {
    const topic = data.topicsAt(store.state.stage)[k];
    const most = Math.max(...shown.map((at) => data.topicsAt(store.state.stage)[at].size), 1e-9);
    const coherence = order.value === "coherence" ? ` · ${short(topic.coherence)}` : "";
    return [
      h(
        "span.topic-head",
        null,
        dot(topicColor(data, store.state, k, store.state.stage)),
        h("span.name", { text: topic.name }),
        h("span.number", { text: pin(k) + percent(topic.size) + coherence }),
        foundAgain(topic.reproducibility)
          ? h("span.number", {
              text: reproducible(topic.reproducibility),
              title: foundAgain(topic.reproducibility),
              class: `number reproducible${topic.reproducibility < SOLID ? " doubtful" : ""}`,
            })
          : null,
      ),
      h("span.topic-words", { text: otherWords(topic).join(" ") }),
      h("span.topic-weight", {
        vars: {
          w: String(topic.size / most),
          c: topicColor(data, store.state, k, store.state.stage),
        },
      }),
    ];
  }

  function pin(k) {
    return pinned.has(k) && store.state.stage >= data.lastStage ? "pinned · " : "";
  }

  function fill() {
    const topics = data.topicsAt(store.state.stage);
    const wanted = filter.value.trim().toLowerCase();
    shown = topics
      .map((_, k) => k)
      .filter(
        (k) =>
          !wanted ||
          topics[k].name.toLowerCase().includes(wanted) ||
          topics[k].words.some(([word]) => word.toLowerCase().includes(wanted)),
      );
    shown.sort(ORDERS[order.value](topics));
    note.textContent =
      wanted && !shown.length
        ? `No ${nouns.component} has that among its first ${nouns.columns}.`
        : stageText(topics);
    note.hidden = !note.textContent;
    list.show(shown.length);
  }

  function stageText(topics) {
    const { stage } = store.state;
    if (stage >= data.lastStage) return "";
    const names = topics.length === 1 ? nouns.component : nouns.components;
    return `${count(topics.length)} ${names} at temperature ${short(data.stages[stage].temperature)}`;
  }

  function draw(changed) {
    const { state } = store;
    if (state.tab !== "topics") return;
    const open = state.topic >= 0;
    const from = (open ? all : one).contains(document.activeElement);
    all.hidden = open;
    one.hidden = !open;
    if (open) detail.show();
    else fill();
    if (from) (open ? one.querySelector("button") : list.element).focus({ preventScroll: true });
    if (changed?.has("topic")) element.scrollTop = 0;
  }
  store.on(["tab", "topic", "stage", "dark", "arrived"], draw);
  draw();
}
