/**
 * What a reader can do, as patches of the state: one place decides what goes out when something new
 * is highlighted, so that a click means the same in every view.
 */

const NO_HIGHLIGHT = { matches: null, query: "", selected: null, node: -1, topic: -1 };

/**
 * Opens a document.
 * @param {import("./store.js").Store} store
 * @param {number} i
 */
export function openDocument(store, i) {
  store.set({ document: i, tab: "document" });
}

/**
 * Highlights the documents of a topic of the stage shown, and opens it; -1 closes.
 * @param {import("./store.js").Store} store
 * @param {number} k
 */
export function chooseTopic(store, k) {
  store.set({ ...NO_HIGHLIGHT, topic: k, tab: "topics" });
}

/**
 * Opens a topic of the final model: the slider goes to its end.
 * @param {import("./store.js").Store} store
 * @param {import("../data/explorer.js").Explorer} data
 * @param {number} k
 */
export function chooseFinalTopic(store, data, k) {
  store.set({ ...NO_HIGHLIGHT, stage: data.lastStage, topic: k, tab: "topics" });
}

/**
 * Highlights the documents below a node of the tree; -1 none.
 * @param {import("./store.js").Store} store
 * @param {number} node
 */
export function chooseNode(store, node) {
  store.set({ ...NO_HIGHLIGHT, node });
}

/**
 * Shows where a word belongs; the same word again lets it go.
 * @param {import("./store.js").Store} store
 * @param {number} word
 */
export function chooseWord(store, word) {
  store.set({ word: store.state.word === word ? -1 : word });
}

/**
 * Moves to another temperature; a topic that is open stays open as the one it belonged to then.
 * @param {import("./store.js").Store} store
 * @param {import("../data/explorer.js").Explorer} data
 * @param {number} stage
 */
export function showStage(store, data, stage) {
  const to = Math.max(0, Math.min(data.lastStage, stage));
  const { topic, stage: from } = store.state;
  store.set({ stage: to, topic: data.carry(topic, from, to) });
}

/**
 * Opens the next or the previous document among those that are highlighted.
 * @param {import("./store.js").Store} store
 * @param {Uint32Array} list highlighted documents
 * @param {number} step 1 or -1
 */
export function walk(store, list, step) {
  if (!list.length) return;
  const at = list.indexOf(store.state.document);
  const to = at < 0 ? (step > 0 ? 0 : list.length - 1) : (at + step + list.length) % list.length;
  openDocument(store, list[to]);
}

/**
 * Dismisses the innermost thing that is held: word, then search, selection, node, topic, and last
 * the open document and what the legend hides.
 * @param {import("./store.js").Store} store
 * @returns {boolean} whether there was anything
 */
export function dismiss(store) {
  const { state } = store;
  if (state.playing) store.set({ playing: false });
  else if (state.mode !== "move") store.set({ mode: "move" });
  else if (state.word >= 0) store.set({ word: -1 });
  else if (state.matches || state.query) store.set({ matches: null, query: "" });
  else if (state.selected) store.set({ selected: null });
  else if (state.node >= 0) store.set({ node: -1 });
  else if (state.topic >= 0) store.set({ topic: -1 });
  else if (state.document >= 0) store.set({ document: -1 });
  else if (state.hidden.size) store.set({ hidden: new Set() });
  else return false;
  return true;
}
