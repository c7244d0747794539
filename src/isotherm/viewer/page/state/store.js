/**
 * The state that every view shares. Views never speak to one another: they set keys here and listen
 * to keys here, which is what links them.
 */

/**
 * @typedef {object} State
 * @property {number} hover document under the pointer, or -1
 * @property {number} document document that is open, or -1
 * @property {Uint32Array|null} selected documents chosen in the map by box or lasso
 * @property {number} topic topic at the stage shown, or -1
 * @property {number} node node of the tree, or -1
 * @property {number} word word, or -1
 * @property {Matches|null} matches what was found
 * @property {string} query text that was searched
 * @property {number} stage temperature shown; the last one is the final model
 * @property {number} map number of the map shown
 * @property {string} color "topic" or "column:c"
 * @property {string} size "none" or "column:c"
 * @property {Set<number>} hidden codes of the present coloring that are not drawn
 * @property {string} tab "topics", "tree", "search" or "document"
 * @property {{labels: boolean, contours: boolean, grid: boolean, magnification: boolean,
 *   rotate: boolean}} overlays
 * @property {string} mode what dragging does: "move", "box" or "lasso"
 * @property {string} theme "auto", "light" or "dark"
 * @property {boolean} dark the theme that "auto" came to
 * @property {boolean} motion whether things may move by themselves
 * @property {boolean} playing whether the slider runs
 * @property {number} [arrived] how many parts have come besides the points
 *
 * @typedef {import("../data/source.js").SearchResult & {documents: Uint32Array}} Matches what a
 *   search found, and its documents, best first
 *
 * @typedef {keyof State} Key
 *
 * @typedef {object} Store
 * @property {State} state
 * @property {(patch: Partial<State>) => void} set
 * @property {(keys: Key|Key[], fn: (changed: Set<Key>) => void) => () => void} on
 * @property {() => void} flush
 */

/**
 * Whether two values of the state say the same: sets, lists of documents and plain records by
 * value.
 * @param {*} a
 * @param {*} b
 * @returns {boolean}
 */
export function same(a, b) {
  if (Object.is(a, b)) return true;
  if (!a || !b || typeof a !== "object" || a.constructor !== b.constructor) return false;
  if (a instanceof Set) return a.size === b.size && [...a].every((value) => b.has(value));
  if (a instanceof Uint32Array) {
    return a.length === b.length && a.every((value, at) => value === b[at]);
  }
  if (a.constructor !== Object) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.is(a[key], b[key]));
}

/**
 * A store: listeners hear of all changes of a frame together, once.
 * @param {State} initial
 * @returns {Store}
 */
export function createStore(initial) {
  const state = { ...initial };
  const listeners = new Set();
  let changed = new Set();
  let waiting = false;

  function flush() {
    waiting = false;
    const now = changed;
    changed = new Set();
    if (!now.size) return;
    for (const listener of [...listeners]) {
      if (listener.keys.some((key) => now.has(key))) listener.fn(now);
    }
  }

  function set(patch) {
    for (const [key, value] of Object.entries(patch)) {
      if (same(state[key], value)) continue;
      state[key] = value;
      changed.add(key);
    }
    if (changed.size && !waiting) {
      waiting = true;
      // A page in the background gets no frames; a timer still keeps its views true.
      if (document.hidden) setTimeout(flush, 50);
      else requestAnimationFrame(flush);
    }
  }

  function on(keys, fn) {
    const listener = { keys: [keys].flat(), fn };
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  return { state, set, on, flush };
}
