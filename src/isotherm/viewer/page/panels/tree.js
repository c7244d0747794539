/**
 * The tree of topics (of splits, of a hierarchy): similarities, words, sizes; a word's spread over
 * the nodes. An ARIA tree with one stop of the tab key: arrows walk it.
 */

import { h, put, percent, short, count } from "../ui/dom.js";
import { topicColor } from "../ui/swatches.js";
import { chooseNode } from "../state/actions.js";
import { createDocumentList } from "../ui/doclist.js";
import { firstOpen, visibleNodes } from "./unfolded.js";
import { highlightedList } from "../state/highlight.js";
import { capital } from "../ui/layout.js";
import { foundAgain, reproducible, SOLID } from "../data/reproducibility.js";

const MOST = 400; // nodes drawn at a time

/**
 * Fills the panel of the tree.
 * @param {HTMLElement} element
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 */
export function createTree(element, data, store) {
  const { tree, nouns } = data;
  if (!tree) return;
  const roots = tree.parents.flatMap((parent, node) => (parent < 0 ? [node] : []));
  const open = firstOpen(data, roots);
  let active = roots[0];
  let shown = MOST;
  const rows = h("div.tree", { role: "tree", "aria-label": "Tree", onkeydown: onKey });
  const find = h("input", {
    type: "search",
    list: "tree-words",
    oninput: suggest,
    placeholder: `Where does a ${nouns.column} belong?`,
    "aria-label": `Spread of a ${nouns.column} over the tree`,
    onchange: search,
    onkeydown: (event) => event.key === "Enter" && search(),
  });
  const status = h("p.quiet", { role: "status" });
  const offers = h("datalist", { id: "tree-words" });
  const documents = createDocumentList(data, store, `${capital(nouns.rows)} below the node`);
  const below = h(
    "section",
    { hidden: true },
    h("h3", { text: `${capital(nouns.rows)} below` }),
    documents.element,
  );
  put(
    element,
    offers,
    h(
      "div.tool-row",
      null,
      find,
      h("button.plain", { type: "button", text: "Unfold", onclick: () => fold(true) }),
      h("button.plain", { type: "button", text: "Fold", onclick: () => fold(false) }),
    ),
    status,
    rows,
    below,
  );

  function suggest() {
    put(
      offers,
      data.wordsFrom(find.value.trim(), 12).map((value) => h("option", { value })),
    );
  }

  function search() {
    const word = find.value.trim();
    const w = word ? data.wordId(word) : -1;
    store.set({ word: w });
    status.textContent =
      word && w < 0 ? `“${word}” is not among the ${nouns.columns} of the model.` : explain();
  }

  function explain() {
    if (store.state.word >= 0) return `Bars: where “${data.word(store.state.word)}” belongs`;
    if (tree.kind === "topics") {
      const meaning = tree.meaning
        .replace("{components}", nouns.components)
        .replace("{rows}", nouns.rows);
      return `Numbers at branches: ${meaning}; percentages are shares of all ${nouns.columns}.`;
    }
    return tree.kind === "splits"
      ? `T is the temperature at which a ${nouns.component} split in two; percentages are shares of all ${nouns.columns}.`
      : `Percentages are shares of all ${nouns.columns}.`;
  }

  function fold(yes) {
    open.clear();
    if (yes) data.children.forEach((children, node) => children.length && open.add(node));
    else roots.forEach((root) => open.add(root));
    draw();
  }

  function item(node, level, spread, most) {
    const { state } = store;
    const children = data.children[node];
    const k = tree.components[node];
    const leaf = !children.length;
    const words = (tree.words[node] ?? []).map(([word]) => word);
    const known = tree.reproducibility?.[node];
    const name =
      (leaf && data.topics[k]?.name) ||
      words.slice(0, 4).join(" ") ||
      (tree.parents[node] < 0 ? `All ${nouns.rows}` : `Node ${node}`);
    const temperature = tree.temperatures[node];
    const alike = tree.similarities?.[node];
    const share = spread?.get(node) ?? 0;
    const colors = [...data.topicsBelow(node)]
      .slice(0, 8)
      .map((below) => topicColor(data, state, below));
    return h(
      "div.node",
      {
        role: "treeitem",
        id: `node-${node}`,
        "data-node": node,
        "aria-level": level,
        tabindex: node === active ? "0" : "-1",
        "aria-selected": String(node === state.node),
        "aria-expanded": leaf ? null : String(open.has(node)),
        title: words.join(" "),
        vars: { level: String(level - 1) },
        onclick: (event) => onClick(event, node),
        class: `node${node === state.node ? " chosen" : ""}`,
      },
      h("span.fold-mark", { "aria-hidden": "true", text: leaf ? "" : open.has(node) ? "▾" : "▸" }),
      h(
        "span.node-colors",
        { "aria-hidden": "true" },
        colors.map((c) => h("i", { vars: { c } })),
      ),
      h("span.name", { text: name }),
      temperature !== null && temperature !== undefined && !leaf
        ? h("span.number.temperature", { text: `T ${short(temperature)}` })
        : null,
      Number.isFinite(alike) && !leaf
        ? h("span.number.temperature", { text: short(alike), title: "similarity" })
        : null,
      foundAgain(known)
        ? h("span.number", {
            text: reproducible(known),
            title: foundAgain(known),
            class: `number reproducible${known < SOLID ? " doubtful" : ""}`,
          })
        : null,
      h("span.number.node-share", { text: spread ? percent(share) : percent(tree.sizes[node]) }),
      spread
        ? h("span.node-bar", {
            vars: {
              w: String(most ? share / most : 0),
              c: leaf && k !== null ? topicColor(data, state, k) : "var(--accent)",
            },
          })
        : null,
    );
  }

  function onClick(event, node) {
    active = node;
    if (event.target.closest(".fold-mark") && data.children[node].length) return toggle(node);
    choose(node);
    return undefined;
  }

  function choose(node) {
    chooseNode(store, store.state.node === node ? -1 : node);
  }

  function toggle(node) {
    if (!open.delete(node)) open.add(node);
    draw();
    focus(node);
  }

  function focus(node) {
    active = node;
    rows.querySelectorAll('[tabindex="0"]').forEach((one) => one.setAttribute("tabindex", "-1"));
    /** @type {HTMLElement|null} */
    const row = rows.querySelector(`#node-${node}`);
    if (!row) return;
    row.tabIndex = 0;
    row.focus();
  }

  function onKey(event) {
    const seen = visibleNodes(data, roots, open).map(([node]) => node);
    const at = seen.indexOf(active);
    const children = data.children[active];
    const step = {
      ArrowDown: seen[at + 1],
      ArrowUp: seen[at - 1],
      Home: seen[0],
      End: seen[seen.length - 1],
    }[event.key];
    if (event.key === "ArrowRight" && children.length)
      open.has(active) ? focus(children[0]) : toggle(active);
    else if (event.key === "ArrowLeft")
      open.has(active) && children.length
        ? toggle(active)
        : focus(Math.max(tree.parents[active], 0));
    else if (event.key === "Enter" || event.key === " ") choose(active);
    else if (step !== undefined) focus(step);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function draw() {
    const { state } = store;
    if (state.tab !== "tree") return;
    const focused = rows.contains(document.activeElement);
    const spread = state.word >= 0 ? data.nodeSpread(state.word) : null;
    const most = spread ? Math.max(0, ...spread.values()) : 0;
    const seen = visibleNodes(data, roots, open);
    put(
      rows,
      seen.slice(0, shown).map(([node, level]) => item(node, level, spread, most)),
      seen.length > shown
        ? h("button.plain", {
            type: "button",
            text: `Show ${count(Math.min(MOST, seen.length - shown))} more`,
            onclick: () => {
              shown += MOST;
              draw();
            },
          })
        : null,
    );
    rows.classList.toggle("spreading", Boolean(spread));
    if (focused) focus(active);
    if (state.word >= 0) find.value = data.word(state.word);
    if (state.word >= 0 || !find.value || data.wordId(find.value.trim()) >= 0)
      status.textContent = explain();
    below.hidden = state.node < 0;
  }

  function drawBelow() {
    const { state } = store;
    if (state.tab !== "tree") return;
    below.hidden = state.node < 0;
    if (state.node < 0) return;
    for (let at = tree.parents[state.node]; at >= 0; at = tree.parents[at]) open.add(at);
    active = state.node;
    documents.show(highlightedList(data, { ...state, matches: null, selected: null }));
  }

  store.on(["tab", "node"], () => {
    drawBelow();
    draw();
  });
  store.on(["word", "dark", "arrived"], draw);
  drawBelow();
  draw();
}
