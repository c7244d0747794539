/**
 * A list of documents by title, as long as one likes: pointing at a row points at its place in the
 * map, choosing it opens the document.
 */

import { h, percent } from "./dom.js";
import { createList } from "./list.js";
import { topicColor, dot } from "./swatches.js";
import { openDocument } from "../state/actions.js";

/**
 * A list of documents.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 * @param {string} label
 * @param {{height?: number, more?: (at: number) => HTMLElement[]}} [options] `more` gives what
 *   stands under a title in place of the topics
 * @returns {{element: HTMLElement, show: (documents: ArrayLike<number>) => void,
 *   refresh: () => void}}
 */
export function createDocumentList(data, store, label, options = {}) {
  /** @type {ArrayLike<number>} */
  let documents = new Uint32Array();
  const list = createList({
    label,
    height: options.height ?? 3,
    row: (at) => [
      h("span.doc-title", { dir: "auto", text: data.title(documents[at]) }),
      h(
        "span.doc-more",
        null,
        options.more ? options.more(at) : topicsLine(data, store.state, documents[at]),
      ),
    ],
    choose: (at) => openDocument(store, documents[at]),
    enter: (at) => store.set({ hover: at < 0 ? -1 : documents[at] }),
    same: () =>
      store.state.document < 0 ? -1 : Array.prototype.indexOf.call(documents, store.state.document),
  });
  store.on(["document", "dark", "arrived"], () => list.refresh());
  return {
    element: list.element,
    refresh: list.refresh,
    show: (wanted) => {
      const other = documents !== wanted;
      documents = wanted;
      list.show(wanted.length, other);
    },
  };
}

/**
 * The strongest topics of a document with dots and shares.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").State} state
 * @param {number} i
 * @param {number} [most]
 * @returns {HTMLElement[]}
 */
export function topicsLine(data, state, i, most = 2) {
  return data
    .topicsOf(i)
    .slice(0, most)
    .map(([k, p]) =>
      h(
        "span.mini",
        null,
        dot(topicColor(data, state, k)),
        h("span.name", { text: data.topics[k]?.name ?? "" }),
        Number.isFinite(p) ? h("span.number", { text: percent(p) }) : null,
      ),
    );
}
