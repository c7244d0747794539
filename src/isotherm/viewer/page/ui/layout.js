/** The frame of the page: tabs, the places of the panels, what folds away on small screens. */

import { h, put, iconButton } from "./dom.js";

/** @param {string} text */
export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Tabs and their panels.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 * @returns {{bodies: Record<string, HTMLElement>, highlight: HTMLElement, tabs: string[]}}
 */
export function createLayout(data, store) {
  const names = {
    topics: data.topics.length ? capital(data.nouns.components) : "",
    tree: data.tree ? "Tree" : "",
    search: "Search",
    document: capital(data.nouns.row),
  };
  const tabs = Object.keys(names).filter((key) => names[key]);
  const panel = document.getElementById("panel");
  const highlight = h("div.lit");
  const bodies = {};
  const buttons = {};
  for (const key of Object.keys(names)) {
    bodies[key] = h("div.body", {
      role: "tabpanel",
      tabindex: "-1",
      id: `body-${key}`,
      "aria-labelledby": `tab-${key}`,
      hidden: true,
    });
  }
  for (const key of tabs) {
    buttons[key] = h("button", {
      type: "button",
      role: "tab",
      id: `tab-${key}`,
      "aria-controls": `body-${key}`,
      text: names[key],
      onclick: () => open(key),
    });
  }
  const fold = iconButton("Taller or smaller panel", "M6 14l6-6 6 6", {
    class: "icon sheet",
    onclick: () => document.body.toggleAttribute("data-tall"),
  });
  put(
    panel,
    grip(),
    h(
      "div.tabs",
      { role: "tablist", "aria-label": "Panels", onkeydown: onKey },
      tabs.map((key) => buttons[key]),
      fold,
    ),
    highlight,
    Object.values(bodies),
  );

  function open(key) {
    store.set({ tab: key });
  }

  function onKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = tabs.indexOf(store.state.tab);
    const to =
      event.key === "Home"
        ? 0
        : event.key === "End"
          ? tabs.length - 1
          : step
            ? (at + step + tabs.length) % tabs.length
            : -1;
    if (to < 0) return;
    event.preventDefault();
    open(tabs[to]);
    buttons[tabs[to]].focus();
  }

  function show() {
    const { tab } = store.state;
    // Who came here by keyboard must not be left on something that is no longer seen.
    const before = Object.values(bodies).find(
      (body) => !body.hidden && body.contains(document.activeElement),
    );
    for (const key of Object.keys(names)) {
      bodies[key].hidden = key !== tab;
      if (!buttons[key]) continue;
      buttons[key].setAttribute("aria-selected", String(key === tab));
      buttons[key].tabIndex = key === tab ? 0 : -1;
    }
    if (before?.hidden) bodies[tab].focus({ preventScroll: true });
  }
  store.on("tab", show);
  // What the reader asks for must be seen: a panel that was put away comes back.
  store.on(["tab", "document"], () => document.body.removeAttribute("data-alone"));
  show();
  return { bodies, highlight, tabs };
}

/** The edge of the panel, which can be moved by pointer and arrow keys. */
function grip() {
  const wide = (px) => {
    const most = Math.min(innerWidth - 360, innerWidth * 0.7);
    document.body.style.setProperty("--side", `${Math.round(Math.max(260, Math.min(most, px)))}px`);
  };
  const now = () => document.getElementById("panel").getBoundingClientRect().width;
  return h("div.grip", {
    role: "separator",
    tabindex: "0",
    "aria-orientation": "vertical",
    "aria-label": "Width of the panel",
    onkeydown: (event) => {
      const step = { ArrowLeft: 24, ArrowRight: -24 }[event.key];
      if (!step) return;
      event.preventDefault();
      wide(now() + step);
    },
    onpointerdown: (event) => {
      const edge = event.currentTarget;
      edge.setPointerCapture(event.pointerId);
      const move = (to) => wide(innerWidth - to.clientX);
      edge.addEventListener("pointermove", move);
      edge.addEventListener(
        "lostpointercapture",
        () => edge.removeEventListener("pointermove", move),
        { once: true },
      );
      event.preventDefault();
    },
    ondblclick: () => document.body.style.removeProperty("--side"),
  });
}
