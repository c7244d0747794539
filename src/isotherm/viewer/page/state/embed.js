/**
 * The page inside a widget of a notebook: what is selected goes out, what Python selects comes in.
 *
 * The frame is sandboxed and has no origin of its own, so a message is known by the window that it
 * comes from: only the one that holds the frame is heard, and only it is spoken to. Nothing is sent
 * but row numbers, which is what whoever holds the frame put into it.
 */

const KIND = "isotherm explorer";

/**
 * The documents that a message selects.
 * @param {*} given
 * @param {number} most number of documents
 * @returns {Uint32Array|null|undefined} null selects nothing, undefined is no valid selection
 */
export function selectionOf(given, most) {
  if (!Array.isArray(given)) return undefined;
  if (!given.every((row) => Number.isInteger(row) && row >= 0 && row < most)) return undefined;
  return given.length ? Uint32Array.from(new Set(given)).sort() : null;
}

/**
 * Connects the store with the window that holds the page, if there is one.
 * @param {import("./store.js").Store} store
 * @param {{n: number}} data
 * @returns {boolean} whether the page is held by another window
 */
export function connectEmbed(store, data) {
  const holder = window.parent;
  if (holder === window) return false;
  // What came in is not sent back: the two sides would answer each other for ever.
  let last = "";
  const rows = () => Array.from(store.state.selected ?? []);
  const post = (extra) => {
    holder.postMessage({ kind: KIND, selected: rows(), ...extra }, "*");
  };
  window.addEventListener("message", (event) => {
    if (event.source !== holder || event.data?.kind !== KIND) return;
    const selected = selectionOf(event.data.selected, data.n);
    if (selected === undefined) return;
    last = String(Array.from(selected ?? []));
    store.set({ selected });
  });
  store.on("selected", () => {
    const now = String(rows());
    if (now === last) return;
    last = now;
    post({});
  });
  post({ ready: true });
  return true;
}
