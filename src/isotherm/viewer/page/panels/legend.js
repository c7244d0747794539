/** The legend that floats over the map: what a color means, and which of it is drawn. */

import { h, put, count, plain, iconButton, within } from "../ui/dom.js";
import { createList } from "../ui/list.js";
import { presentColoring, dot } from "../ui/swatches.js";

const SEARCH_FROM = 12;

/** How many documents have every code; the last entry counts those without any. */
function tally(codes, size) {
  const counts = new Uint32Array(size + 1);
  if (codes) for (let i = 0; i < codes.length; i++) counts[Math.min(codes[i], size)]++;
  return counts;
}

/** Topics of a stage in the order of the tree: related ones, which have related hues, in a row. */
function inTree(data, stage) {
  const { tree, topics } = data;
  const path = (node) => (node < 0 ? [] : [...path(tree.parents[node]), node]);
  const paths = topics.map(({ node }) => (tree && node !== null ? path(node) : []));
  const before = (a, b) => {
    const at = paths[a].findIndex((node, depth) => node !== paths[b][depth]);
    return at < 0 ? 0 : paths[a][at] - (paths[b][at] ?? -1);
  };
  const ranks = new Map([...topics.keys()].sort(before).map((k, rank) => [k, rank]));
  const firsts = data
    .topicsAt(stage)
    .map(({ finals }, k) =>
      finals ? Math.min(...finals.map((one) => ranks.get(one))) : ranks.get(k),
    );
  return [...firsts.keys()].sort((a, b) => firsts[a] - firsts[b]);
}

/**
 * Fills the legend and keeps it true.
 * @param {HTMLElement} element
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 * @param {import("../map/map.js").MapView} map
 */
export function createLegend(element, data, store, map) {
  const title = h("strong");
  const body = h("div.legend-body", { id: "legend-body" });
  const fold = iconButton("Fold the legend", "M6 9l6 6 6-6", {
    "aria-expanded": "true",
    "aria-controls": "legend-body",
    onclick: () => open(body.hidden),
  });
  const all = h("button.plain", {
    type: "button",
    text: "All",
    title: "Draw all of them",
    onclick: () => store.set({ hidden: new Set() }),
  });
  put(element, h("header", null, title, all, fold), body);
  const filter = h("input", {
    type: "search",
    placeholder: "Find in the legend",
    "aria-label": "Find in the legend",
    oninput: () => list(),
  });
  let shown = { colors: [], names: [], counts: [], order: [], codes: [] };
  const rows = createList({
    label: "Colours: Enter draws or hides one, o shows only it",
    height: 1.75,
    row: (at) => row(shown.codes[at]),
    choose: (at) => toggle(shown.codes[at]),
  });
  rows.element.setAttribute("aria-multiselectable", "true");
  rows.element.addEventListener("dblclick", (event) => {
    const at = within(event, ".list-row")?.dataset.at;
    if (at !== undefined && !within(event, "button")) only(shown.codes[Number(at)]);
  });
  rows.element.addEventListener("keydown", (event) => {
    /** @type {HTMLElement|null} */
    const active = rows.element.querySelector(".list-row.active");
    if (event.key === "o" && active) only(shown.codes[Number(active.dataset.at)]);
  });

  function open(yes) {
    body.hidden = !yes;
    fold.setAttribute("aria-expanded", String(yes));
    element.toggleAttribute("data-folded", !yes);
    if (yes) rows.refresh();
  }

  function row(code) {
    const missing = code === shown.colors.length;
    const name = missing ? "not known" : shown.names[code] || "(no name)";
    const off = store.state.hidden.has(code);
    return [
      h(
        `span.legend-entry${off ? ".off" : ""}`,
        { title: `${name}: click to ${off ? "draw" : "hide"}, double-click for this alone` },
        dot(missing ? shown.missing : shown.colors[code]),
        h("span.name", { text: name }),
        h("span.number", { text: count(shown.counts[code]) }),
      ),
      h("button.plain.only", {
        type: "button",
        tabindex: "-1",
        text: "only",
        "aria-label": `Only ${name}`,
        onclick: () => only(code),
      }),
    ];
  }

  function toggle(code) {
    const hidden = new Set(store.state.hidden);
    if (!hidden.delete(code)) hidden.add(code);
    store.set({ hidden });
  }

  function only(code) {
    const { hidden } = store.state;
    const total = shown.colors.length + 1;
    const alone = !hidden.has(code) && hidden.size === total - 1;
    const others = Array.from({ length: total }, (_, at) => at).filter((at) => at !== code);
    store.set({ hidden: alone ? new Set() : new Set(others) });
  }

  function list() {
    const wanted = filter.value.trim().toLowerCase();
    const named = (code) => shown.names[code].toLowerCase().includes(wanted);
    const codes = wanted ? shown.order.filter(named) : [...shown.order];
    if (!wanted && shown.counts[shown.colors.length]) codes.push(shown.colors.length);
    shown.codes = codes;
    none.hidden = codes.length > 0;
    rows.show(codes.length);
  }

  const none = h("p.quiet", { text: "Nothing of that name.", hidden: true });

  function categories(present) {
    const { state } = store;
    const codes = present.column
      ? data.points.array(`column${Number(state.color.slice(7))}`)
      : data.codesAt(state.stage);
    const order = present.column ? [...present.colors.keys()] : inTree(data, state.stage);
    const counts = tally(codes ?? data.codes, present.colors.length);
    shown = { ...present, order, counts, codes: [] };
    put(
      body,
      present.names.length > SEARCH_FROM ? filter : null,
      none,
      h("div.legend-rows", null, rows.element),
    );
    list();
  }

  function gradient({ colors, column, missing }) {
    const stops = Array.from(
      { length: 9 },
      (_, at) => colors[Math.round((at / 8) * (colors.length - 1))],
    );
    put(
      body,
      h("div.gradient", {
        vars: { ramp: `linear-gradient(to right, ${stops.join(", ")})` },
        "aria-hidden": "true",
      }),
      h(
        "div.gradient-ends",
        null,
        h("span", { text: plain(column.low) }),
        h("span", { text: plain((column.low + column.high) / 2) }),
        h("span", { text: plain(column.high) }),
      ),
      column.missing
        ? h(
            "p.legend-entry",
            null,
            dot(missing),
            h("span.name", { text: "not known" }),
            h("span.number", { text: count(column.missing) }),
          )
        : null,
    );
  }

  function draw() {
    const present = presentColoring(data, store.state);
    const name = present.column?.name ?? data.nouns.components;
    title.textContent = name.charAt(0).toUpperCase() + name.slice(1);
    element.hidden = present.kind === "category" && !present.names.length;
    filter.value = "";
    if (present.kind === "number") gradient(present);
    else categories(present);
    marks();
  }

  function marks() {
    all.hidden = !store.state.hidden.size;
    rows.refresh();
  }

  store.on(["color", "stage", "dark", "arrived"], draw);
  store.on("hidden", marks);
  draw();
  open(!matchMedia("(max-width: 1000px)").matches);
  // The map centres what it shows in the room that the legend leaves.
  new ResizeObserver(() => {
    const stage = element.parentElement.clientWidth;
    const covered =
      element.hidden || body.hidden || stage < 700 ? 0 : element.offsetWidth + element.offsetLeft;
    map.setInset?.({ left: covered, top: 0, right: 0, bottom: 0 });
  }).observe(element);
}
