/** The address of the page tells what is looked at, so that it can be kept, sent and reloaded. */

/** @type {import("./store.js").Key[]} */
const NUMBERS = ["document", "topic", "node", "stage", "map"];
/** @type {import("./store.js").Key[]} */
const WORDS = ["tab", "color", "size", "theme"];
const WRITTEN = { color: "colour" }; // keys that addresses have under another name
const nameOf = (key) => WRITTEN[key] ?? key;

/**
 * What an address says, as far as it fits this collection: an address is written by anyone.
 * @param {string} hash as "#topic=3&map=1"
 * @param {import("../data/explorer.js").Explorer} data
 * @param {string[]} tabs
 * @returns {Partial<import("./store.js").State>}
 */
export function fromAddress(hash, data, tabs) {
  const given = new URLSearchParams(hash.slice(1));
  const limits = {
    document: data.n,
    node: data.tree?.parents.length ?? 0,
    stage: Math.max(1, data.stages.length),
    map: data.meta.maps.length,
  };
  /** @type {Partial<import("./store.js").State>} */
  const patch = {};
  const number = (key, limit) => {
    const value = given.get(key);
    if (value !== null && /^\d{1,10}$/.test(value) && Number(value) < limit)
      patch[key] = Number(value);
  };
  for (const [key, limit] of Object.entries(limits)) number(key, limit);
  number("topic", data.topicsAt(patch.stage ?? data.lastStage).length);
  const columns = data.meta.columns.map((column, c) => [`column:${c}`, column.kind]);
  const allowed = {
    tab: tabs,
    theme: ["auto", "light", "dark"],
    color: [...(data.topics.length ? ["topic"] : []), ...columns.map(([key]) => key)],
    size: ["none", ...columns.filter(([, kind]) => kind === "number").map(([key]) => key)],
  };
  for (const key of WORDS) {
    const value = given.get(nameOf(key));
    if (allowed[key].includes(value)) Object.assign(patch, { [key]: value });
  }
  return patch;
}

/**
 * Takes over what the address says and keeps it true from then on.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("./store.js").Store} store
 * @param {string[]} tabs
 */
export function createAddress(data, store, tabs) {
  const first = Object.fromEntries([...NUMBERS, ...WORDS].map((key) => [key, store.state[key]]));
  const read = () => store.set({ ...first, ...fromAddress(location.hash, data, tabs) });
  addEventListener("hashchange", read);
  read();
  let timer = 0;
  store.on([...NUMBERS, ...WORDS], () => {
    clearTimeout(timer);
    timer = setTimeout(write, 400); // browsers allow only so many changes of an address
  });

  function write() {
    const params = new URLSearchParams();
    for (const key of [...NUMBERS, ...WORDS]) {
      if (store.state[key] !== first[key]) params.set(nameOf(key), String(store.state[key]));
    }
    const text = params.toString();
    try {
      history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
    } catch {
      // Inside a frame without an address of its own there is nothing to keep.
    }
  }
}
