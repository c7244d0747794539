/** A word that was chosen: how often it occurs and how it spreads over the topics. */

import { h, put, count, percent, iconButton } from "../ui/dom.js";
import { barList } from "../ui/bars.js";
import { topicColor } from "../ui/swatches.js";
import { chooseFinalTopic } from "../state/actions.js";

/**
 * Shows the word of the state, or nothing.
 * @param {HTMLElement} element
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 */
export function createWordCard(element, data, store) {
  const { nouns } = data;

  function draw() {
    const { state } = store;
    const w = state.word;
    element.hidden = w < 0 || !data.parts.words;
    if (element.hidden) return put(element);
    const spread = data.spread(w).filter(([, p]) => p > 0);
    const most = spread[0]?.[1] ?? 1;
    const name = data.word(w);
    put(
      element,
      h(
        "section.word-card",
        { "aria-label": `The ${nouns.column} ${name}` },
        h(
          "header",
          null,
          h(
            "h3",
            null,
            h("q", { text: name }),
            h("small", { text: ` ${count(data.total(w))} times` }),
          ),
          h("button.plain", {
            type: "button",
            text: `Find ${nouns.rows}`,
            onclick: () => store.set({ query: name, tab: "search" }),
          }),
          data.tree && state.tab !== "tree"
            ? h("button.plain", {
                type: "button",
                text: "In the tree",
                onclick: () => store.set({ tab: "tree" }),
              })
            : null,
          iconButton("Let the word go (Esc)", "M6 6l12 12M18 6L6 18", {
            onclick: () => store.set({ word: -1 }),
          }),
        ),
        state.tab === "tree" && data.tree ? null : spreadBars(spread, most, state),
      ),
    );
  }

  function spreadBars(spread, most, state) {
    if (!spread.length)
      return h("p.quiet", { text: `It belongs to no ${nouns.component} of the model.` });
    return barList(
      spread.map(([k, p]) => ({
        name: data.topics[k]?.name ?? `${nouns.component} ${k + 1}`,
        value: p,
        most,
        text: percent(p),
        color: topicColor(data, state, k),
        title: `${percent(p)} of its occurrences belong to “${data.topics[k]?.name}”`,
        onclick: () => chooseFinalTopic(store, data, k),
      })),
      5,
      "wide",
    );
  }

  store.on(["word", "dark", "tab", "arrived"], draw);
  draw();
}
