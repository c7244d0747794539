/** Search: words or a whole text; what was found, why, and which topics the question is about. */

import { h, put, count, percent, later, reason } from "../ui/dom.js";
import { createDocumentList } from "../ui/doclist.js";
import { topicColor, topicChip, dot } from "../ui/swatches.js";
import { chooseFinalTopic } from "../state/actions.js";

/** Most documents that a search tells. */
export const MOST = 200;

/**
 * Documents whose title has the text: what is left to search where a file has no index.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {string} query
 * @param {number} most
 */
export function searchTitles(data, query, most) {
  const wanted = query.toLowerCase();
  const hits = [];
  for (let i = 0; i < data.n && hits.length < most; i++) {
    if (data.title(i).toLowerCase().includes(wanted)) {
      hits.push({ document: i, score: 1, words: [], topics: [], through_topics: 0 });
    }
  }
  return { known: [], unknown: [], hits, topics: [], titles: true };
}

/**
 * Fills the panel of the search.
 * @param {HTMLElement} element
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 * @param {import("../data/source.js").Source} source
 */
export function createSearch(element, data, store, source) {
  const { nouns } = data;
  let asked = 0;
  let failed = "";
  let latest = ""; // text of the latest question, so that a pause in typing does not ask again
  const indexed = data.meta.live || data.has("index");
  const box = h("textarea", {
    id: "query",
    rows: "2",
    spellcheck: "false",
    maxlength: "60000",
    placeholder: indexed ? "Words, or paste a whole text" : `Part of a title`,
    "aria-label": "Search",
    oninput: later(() => box.value.trim() !== latest && ask(box.value), 300),
    onkeydown: (event) => {
      if (event.key === "Escape") asked++; // what is still on its way is no longer wanted
      if (event.key !== "Enter" || event.shiftKey) return;
      event.preventDefault();
      ask(box.value);
    },
  });
  const status = h("div.search-told", { role: "status" });
  const topics = h("div.search-about");
  let hits = [];
  const list = createDocumentList(data, store, "Found", {
    height: 4.5,
    more: (at) => why(hits[at]),
  });
  put(
    element,
    h(
      "div.search-box",
      null,
      box,
      h("button", { type: "button", text: "Search", onclick: () => ask(box.value) }),
    ),
    h("p.quiet", { text: method() }),
    status,
    topics,
    list.element,
  );

  function method() {
    if (data.meta.live) return "Ranked by the model: by shared words and by shared topics.";
    if (indexed)
      return `Ranked by ${nouns.columns}, inside this page; ${nouns.components} tell what the words are about. Nothing leaves your computer.`;
    return "This file has no index of words: titles are searched.";
  }

  function why(hit) {
    if (!hit) return [];
    const most = hit.words[0]?.[1] || 1;
    const words = hit.words
      .slice(0, 6)
      .map(([word, amount]) =>
        h("span.mark", { text: word, vars: { a: String(0.25 + 0.75 * (amount / most)) } }),
      );
    const shared = hit.topics
      .slice(0, 2)
      .map(([k]) =>
        h(
          "span.mini",
          null,
          dot(topicColor(data, store.state, k)),
          h("span.name", { text: data.topics[k]?.name ?? "" }),
        ),
      );
    const through =
      !words.length && hit.through_topics > 0
        ? h("span", { text: `through shared ${nouns.components}` })
        : null;
    return [h("span.why", null, words, through), h("span.why", null, shared)];
  }

  async function ask(text) {
    const query = text.trim();
    const turn = ++asked;
    latest = query;
    if (!query) {
      store.set({ query: "", matches: null });
      return;
    }
    if (query === store.state.query && store.state.matches) return;
    failed = "";
    status.textContent = "Searching …";
    try {
      const result =
        (indexed ? await source.search(query, MOST) : null) ?? searchTitles(data, query, MOST);
      if (turn !== asked) return; // a later question was faster
      const documents = Uint32Array.from(result.hits, (hit) => hit.document);
      store.set({ query, matches: { ...result, documents }, selected: null, node: -1, topic: -1 });
      draw();
    } catch (error) {
      if (turn !== asked) return;
      failed = reason(error);
      store.set({ query, matches: null });
      draw();
    }
  }

  function draw() {
    const { matches, query } = store.state;
    hits = matches?.hits ?? [];
    list.element.hidden = !hits.length;
    list.show(matches?.documents ?? new Uint32Array());
    put(topics);
    if (!matches) {
      put(status, failed);
      return;
    }
    const number =
      hits.length === MOST
        ? `The first ${count(MOST)} ${nouns.rows}`
        : hits.length
          ? `${count(hits.length)} ${hits.length === 1 ? nouns.row : nouns.rows}`
          : `No ${nouns.row} has any of that`;
    put(
      status,
      h("p", { text: hits.length ? `${number}, best first` : `${number}.` }),
      matches.unknown?.length
        ? h("p.quiet", {
            text: `Not in the vocabulary: ${matches.unknown.slice(0, 12).join(", ")}${matches.unknown.length > 12 ? " …" : ""}`,
          })
        : null,
      matches.stopped?.length
        ? h("p.quiet", {
            text: `Stop words, not counted: ${matches.stopped.slice(0, 12).join(", ")}`,
          })
        : null,
      !hits.length && query ? h("p.quiet", { text: "Try other or fewer words." }) : null,
    );
    const strong = (matches.topics ?? [])
      .filter(([k, p]) => data.topics[k] && p >= 0.02)
      .slice(0, 4);
    if (strong.length) {
      put(
        topics,
        h("h3", { text: "What it is about" }),
        h(
          "div.chips",
          null,
          strong.map(([k, p]) =>
            topicChip(
              topicColor(data, store.state, k),
              data.topics[k].name,
              () => chooseFinalTopic(store, data, k),
              percent(p),
            ),
          ),
        ),
      );
    }
  }

  store.on(["query"], () => {
    if (document.activeElement !== box || !store.state.query) box.value = store.state.query;
    // Another view asked (a word's card): the result is not there yet.
    if (store.state.query && store.state.query !== latest) ask(store.state.query);
    if (!store.state.query) latest = failed = "";
  });
  store.on(["matches", "tab", "dark"], () => store.state.tab === "search" && draw());
  list.element.hidden = true;
}
