/** The page as a whole: opens the source, makes store and views, says when it is ready. */

import { openSource } from "./data/source.js";
import { createStore } from "./state/store.js";
import { Explorer } from "./data/explorer.js";
import { createMap } from "./map/map.js";
import { createLayout } from "./ui/layout.js";
import { createToolbar } from "./ui/toolbar.js";
import { createLegend } from "./panels/legend.js";
import { createHighlightBar } from "./panels/selection.js";
import { createTopics } from "./panels/topics.js";
import { createTree } from "./panels/tree.js";
import { createSearch } from "./panels/search.js";
import { createDocument } from "./panels/document.js";
import { createPath } from "./panels/path.js";
import { createTooltip } from "./ui/tooltip.js";
import { createAddress } from "./state/address.js";
import { createHint } from "./ui/help.js";
import { createKeys } from "./ui/keys.js";
import { connectEmbed } from "./state/embed.js";

const MORE = ["documents", "words", "texts"];

function initialState(data) {
  const color = data.topics.length ? "topic" : data.meta.columns.length ? "column:0" : "topic";
  return {
    hover: -1,
    document: -1,
    selected: null,
    topic: -1,
    node: -1,
    word: -1,
    matches: null,
    query: "",
    stage: data.lastStage,
    map: 0,
    color,
    size: "none",
    hidden: new Set(),
    mode: "move",
    tab: data.topics.length ? "topics" : "document",
    playing: false,
    overlays: { labels: true, contours: false, grid: false, magnification: false, rotate: false },
    theme: "auto",
    dark: false,
    motion: true,
  };
}

/** Keeps `dark` and `motion` true to the theme chosen and to what the reader's system asks for. */
function followSystem(store) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const follow = () => {
    const { theme } = store.state;
    const isDark = theme === "dark" || (theme === "auto" && dark.matches);
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    store.set({ dark: isDark, motion: !still.matches });
  };
  dark.addEventListener("change", follow);
  still.addEventListener("change", follow);
  store.on("theme", follow);
  follow();
}

/** What must hold between keys of the state, whoever sets them. */
function keepTrue(store) {
  store.on(["selected"], () => {
    if (store.state.selected) store.set({ matches: null, query: "" });
  });
  store.on(["color", "stage"], (changed) => {
    if (changed.has("color") || store.state.color === "topic") store.set({ hidden: new Set() });
  });
}

function fail(error) {
  const text = error instanceof Error ? error.message : String(error);
  const message = document.getElementById("message");
  message.textContent = `This page could not be opened: ${text}`;
  message.hidden = false;
  document.getElementById("loading").hidden = true;
  document.body.dataset.error = text;
}

/** Takes the other parts as they come and tells the views (key `arrived` of the state). */
async function takeRest(data, source, store) {
  let arrived = 0;
  await Promise.all(
    MORE.map(async (name) => {
      data.take(name, data.has(name) ? await source.part(name) : null);
      store.set({ arrived: ++arrived });
    }),
  );
}

/**
 * Opens the page.
 * @returns {Promise<void>}
 */
export async function start() {
  try {
    const source = openSource();
    const points = await source.part("points");
    if (!points) throw new Error("it holds no points.");
    const data = new Explorer(points);
    const store = createStore(initialState(data));
    followSystem(store);
    keepTrue(store);
    const layout = createLayout(data, store);
    const map = createMap(document.getElementById("map"), data, store);
    store.on("mode", () => map.setMode(store.state.mode));
    createAddress(data, store, layout.tabs);
    createToolbar(data, store, map);
    createLegend(document.getElementById("legend"), data, store, map);
    createHighlightBar(layout.highlight, data, store, map);
    createTopics(layout.bodies.topics, data, store, source);
    createTree(layout.bodies.tree, data, store);
    createSearch(layout.bodies.search, data, store, source);
    createDocument(layout.bodies.document, data, store, source);
    createPath(document.getElementById("dock"), data, store);
    createTooltip(document.getElementById("tooltip"), data, store, map, source);
    createHint(document.getElementById("hint"), data, store);
    createKeys(data, store, map, layout);
    connectEmbed(store, data);
    Object.assign(window, { isotherm: { store, data, map, source } }); // for the console
    document.getElementById("loading").hidden = true;
    await map.painted(); // a first picture is enough: a large map goes on filling in
    document.body.dataset.ready = "";
    await takeRest(data, source, store);
    store.flush();
    document.body.dataset.complete = "";
  } catch (error) {
    fail(error);
    throw error;
  }
}

start();
