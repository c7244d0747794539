/** Which documents are highlighted. Every view asks here, so they never disagree. */

let last = { key: [], data: null, answer: null };

/**
 * Why documents are highlighted: the innermost of search, selection, node, topic.
 * @param {import("./store.js").State} state
 * @returns {"matches"|"selected"|"node"|"topic"|null}
 */
export function highlightedBy(state) {
  if (state.matches) return "matches";
  if (state.selected) return "selected";
  if (state.node >= 0) return "node";
  if (state.topic >= 0) return "topic";
  return null;
}

/**
 * The documents that are highlighted; `mask` null means all of them.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("./store.js").State} state
 * @returns {{mask: Uint8Array|null, count: number, by: string|null}}
 */
export function highlightMask(data, state) {
  const by = highlightedBy(state);
  const codes = by === "topic" ? data.codesAt(state.stage) : data.codes;
  const key = [by, by && state[by], by === "topic" ? state.stage : -1, codes];
  if (last.data === data && key.every((value, at) => value === last.key[at])) return last.answer;
  const answer = { ...maskOf(data, state, by, codes), by };
  last = { key, data, answer };
  return answer;
}

function maskOf(data, state, by, codes) {
  if (!by || ((by === "node" || by === "topic") && !codes)) return { mask: null, count: data.n };
  const mask = new Uint8Array(data.n);
  let count = 0;
  if (by === "matches" || by === "selected") {
    for (const i of by === "matches" ? state.matches.documents : state.selected) {
      count += 1 - mask[i];
      mask[i] = 1;
    }
    return { mask, count };
  }
  const wanted = new Uint8Array(65536); // a set would be slow for a million documents
  for (const k of by === "node" ? data.topicsBelow(state.node) : [state.topic]) wanted[k] = 1;
  for (let i = 0; i < data.n; i++) count += mask[i] = wanted[codes[i]];
  return { mask, count };
}

/**
 * The highlighted documents as a list: in the order of the search, else in their own order.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("./store.js").State} state
 * @returns {Uint32Array}
 */
export function highlightedList(data, state) {
  if (state.matches) return state.matches.documents;
  if (highlightedBy(state) === "topic")
    return data.codesAt(state.stage)
      ? data.documentsOfTopic(state.topic, state.stage)
      : new Uint32Array();
  const { mask, count } = highlightMask(data, state);
  const list = new Uint32Array(count);
  let at = 0;
  for (let i = 0; i < data.n; i++) if (!mask || mask[i]) list[at++] = i;
  return list;
}
