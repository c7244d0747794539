/** The bar at the top: what the page shows, and how the map shows it. */

import { h, put, iconButton, icon, download, count } from "./dom.js";
import { openHelp } from "./help.js";

const ICONS = {
  move: "M12 3v18M3 12h18M12 3l-3 3m3-3l3 3M12 21l-3-3m3 3l3-3M3 12l3-3m-3 3l3 3M21 12l-3-3m3 3l-3 3",
  box: "M4 4h4M11 4h3M17 4h3v3M20 10v4M20 17v3h-3M14 20h-4M7 20H4v-3M4 14v-4M4 7V4",
  lasso:
    "M7 15c-3-1-4-3-4-5 0-4 4-6 9-6s9 2 9 6-4 6-9 6c-2 0-3 0-5-1zm0 0c-2 1-2 4 0 4s2-2 1-3M8 19c0 1-1 2-2 2",
  fit: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5M9 12h6M12 9v6",
  camera: "M4 8h4l2-3h4l2 3h4v11H4zM12 17a4 4 0 100-8 4 4 0 000 8",
  auto: "M12 3a9 9 0 100 18 9 9 0 000-18zM12 3v18M12 8h7M12 13h8.5M12 18h5",
  light:
    "M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2",
  dark: "M20 14a8 8 0 01-10-10 8 8 0 1010 10z",
  help: "M9 9a3 3 0 116 0c0 2-3 2.5-3 5M12 17.5v.5",
  layers: "M12 3l9 5-9 5-9-5zM3 12.5l9 5 9-5M3 17l9 5 9-5",
  tools: "M4 7h10M18 7h2M4 17h2M10 17h10M16 4v6M8 14v6",
  panel: "M4 5h16v14H4zM14 5v14",
};

/** @type {[string, string, (map: import("../data/format.js").MapMeta) => boolean][]} */
const OVERLAYS = [
  ["labels", "Labels", () => true],
  ["contours", "Density contours", () => true],
  ["grid", "Grid of the map", (map) => Boolean(map.grid)],
  ["magnification", "Magnification", (map) => Boolean(map.grid)],
  ["rotate", "Turn slowly (3-D)", (map) => map.dimensions === 3],
];

/**
 * Fills the bar.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 * @param {import("../map/map.js").MapView} map
 */
export function createToolbar(data, store, map) {
  const { meta, nouns } = data;
  const facts = [`${count(data.n)} ${data.n === 1 ? nouns.row : nouns.rows}`];
  if (data.topics.length) {
    facts.push(
      `${count(data.topics.length)} ${data.topics.length === 1 ? nouns.component : nouns.components}`,
    );
  }
  if (meta.n_words) facts.push(`${count(meta.n_words)} ${nouns.columns}`);
  put(
    document.getElementById("heading"),
    h("h1", { text: meta.title, title: meta.title }),
    h("p", { text: [meta.subtitle, ...facts].filter(Boolean).join(" · ") }),
  );
  const tools = document.getElementById("tools");
  const folding = iconButton("Tools of the map", ICONS.tools, {
    class: "icon fold",
    "aria-expanded": "false",
    "aria-controls": "tools",
    onclick: () => {
      const open = document.body.toggleAttribute("data-tools");
      folding.setAttribute("aria-expanded", String(open));
    },
  });
  tools.before(folding);
  put(
    tools,
    mapSwitch(data, store),
    chooser("Colour", "color", colors(data), store),
    chooser("Size", "size", sizes(data), store),
    overlays(data, store),
    modes(store),
    h(
      "div.group",
      null,
      iconButton("Show everything (0)", ICONS.fit, { onclick: () => map.reset() }),
      iconButton("Save a picture of the map", ICONS.camera, { onclick: () => shoot(data, map) }),
      theme(store),
      iconButton("Hide or show the panel", ICONS.panel, {
        class: "icon wide",
        onclick: () => document.body.toggleAttribute("data-alone"),
      }),
      iconButton("Help and keys (?)", ICONS.help, { onclick: () => openHelp(data) }),
    ),
  );
}

function mapSwitch(data, store) {
  if (data.meta.maps.length < 2) return null;
  const buttons = data.meta.maps.map((one, at) =>
    h("button", {
      type: "button",
      text: one.name,
      onclick: () => store.set({ map: at }),
    }),
  );
  const show = () =>
    buttons.forEach((button, at) =>
      button.setAttribute("aria-pressed", String(at === store.state.map)),
    );
  store.on("map", show);
  show();
  return h("div.group.switch", { role: "group", "aria-label": "Map" }, buttons);
}

function colors(data) {
  const options = data.topics.length ? [["topic", data.nouns.component]] : [];
  data.meta.columns.forEach((column, c) => options.push([`column:${c}`, column.name]));
  return options;
}

function sizes(data) {
  const options = [["none", "the same"]];
  data.meta.columns.forEach((column, c) => {
    if (column.kind === "number") options.push([`column:${c}`, column.name]);
  });
  return options.length > 1 ? options : [];
}

function chooser(label, key, options, store) {
  if (!options.length) return null;
  const select = h(
    "select",
    { onchange: () => store.set({ [key]: select.value }) },
    options.map(([value, text]) => h("option", { value, text })),
  );
  const show = () => (select.value = store.state[key]);
  store.on(key, show);
  show();
  return h("label.chooser", null, h("span", { text: label }), select);
}

function overlays(data, store) {
  const boxes = OVERLAYS.filter(([, , fits]) => data.meta.maps.some(fits)).map(([key, text]) => {
    const box = h("input", {
      type: "checkbox",
      "data-overlay": key,
      onchange: () => store.set({ overlays: { ...store.state.overlays, [key]: box.checked } }),
    });
    const show = () => (box.checked = Boolean(store.state.overlays[key]));
    store.on("overlays", show);
    show();
    return h("label", null, box, text);
  });
  const menu = h("div.menu", { hidden: true }, boxes);
  const button = h(
    "button.menu-button",
    {
      type: "button",
      "aria-expanded": "false",
      title: "What is drawn in the map besides points",
      onclick: () => open(menu.hidden),
    },
    icon(ICONS.layers),
    h("span", { text: "Overlays" }),
  );
  const around = h("div.around", { onkeydown }, button, menu);
  function open(yes) {
    menu.hidden = !yes;
    button.setAttribute("aria-expanded", String(yes));
  }
  function onkeydown(event) {
    if (event.key !== "Escape" || menu.hidden) return;
    event.stopPropagation();
    open(false);
    button.focus();
  }
  document.addEventListener("pointerdown", (event) => {
    if (!around.contains(/** @type {Node} */ (event.target))) open(false);
  });
  return around;
}

function modes(store) {
  const entries = [
    ["move", "Move the map"],
    ["box", "Select by a box (b, or Shift and drag)"],
    ["lasso", "Select by a lasso (l)"],
  ];
  const buttons = entries.map(([mode, text]) =>
    iconButton(text, ICONS[mode], {
      "data-mode": mode,
      onclick: () => store.set({ mode }),
    }),
  );
  const show = () =>
    buttons.forEach((button) =>
      button.setAttribute("aria-pressed", String(button.dataset.mode === store.state.mode)),
    );
  store.on("mode", show);
  show();
  return h("div.group.switch", { role: "group", "aria-label": "Dragging" }, buttons);
}

function theme(store) {
  const next = { auto: "light", light: "dark", dark: "auto" };
  const names = { auto: "as the system", light: "light", dark: "dark" };
  const button = iconButton("Theme", ICONS.auto, {
    onclick: () => store.set({ theme: next[store.state.theme] }),
  });
  const show = () => {
    const name = `Theme: ${names[store.state.theme]}`;
    button.replaceChildren(icon(ICONS[store.state.theme]));
    button.title = name;
    button.setAttribute("aria-label", name);
  };
  store.on("theme", show);
  show();
  return button;
}

async function shoot(data, map) {
  const name = data.meta.title.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60) || "map";
  download(`${name}.png`, await map.screenshot());
}
