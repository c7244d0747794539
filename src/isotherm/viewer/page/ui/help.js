/** The page about the page: what is shown, facts of the run, and keys. */

import { h, put } from "./dom.js";

/** Keys, as the reader sees them. keys.js does what this says. */
export const KEYS = [
  ["/", "search"],
  ["1  2  3  4", "the panels"],
  ["Esc", "let go of the innermost thing chosen"],
  ["n  p", "next and previous document among those lit"],
  ["[  ]", "hotter and colder"],
  ["Space", "run the annealing path (when nothing else has the focus)"],
  ["f", "zoom to what is lit"],
  ["0", "show everything"],
  ["m  b  l", "drag to move, by a box, by a lasso"],
  ["c", "colour by the next column"],
  ["t", "light, dark, or as the system"],
  ["↑  ↓  ←  →", "walk lists, tree, slider and map"],
  ["?", "this page"],
];

let dialog = null;

/**
 * Opens the page about the page.
 * @param {import("../data/explorer.js").Explorer} data
 */
export function openHelp(data) {
  if (!dialog) {
    dialog = h("dialog.help", {
      "aria-label": "Help",
      onclick: (event) => event.target === dialog && dialog.close(),
    });
    document.body.append(dialog);
  }
  const { nouns, meta } = data;
  put(
    dialog,
    h(
      "div.help-inside",
      null,
      h(
        "header",
        null,
        h("h2", { text: meta.title }),
        h("button.plain", { type: "button", text: "Close", onclick: () => dialog.close() }),
      ),
      h("p", {
        text:
          `Every point is one ${nouns.row}; points that lie together are about the same things. ` +
          "Choosing anything, in any place, lights the same " +
          `${nouns.rows} everywhere: in the map, in the lists, in the tree.`,
      }),
      meta.coolings.length
        ? h("p", {
            text:
              "The path below the map shows how the model came about: cooled from hot, where all is " +
              `one ${nouns.component}, to cold; at every transition one splits. The slider goes back there.`,
          })
        : null,
      meta.facts.length
        ? [
            h("h3", { text: "About this map" }),
            h(
              "dl.facts",
              null,
              meta.facts.map(([name, value]) =>
                h("div", null, h("dt", { text: name }), h("dd", { text: value })),
              ),
            ),
          ]
        : null,
      h("h3", { text: "Keys" }),
      h(
        "dl.keys",
        null,
        KEYS.map(([key, text]) =>
          h(
            "div",
            null,
            h(
              "dt",
              null,
              key.split("  ").map((one) => h("kbd", { text: one })),
            ),
            h("dd", { text }),
          ),
        ),
      ),
    ),
  );
  dialog.showModal();
}

/** @returns {boolean} whether it is open */
export function helpIsOpen() {
  return Boolean(dialog?.open);
}

/**
 * Tells a newcomer what to do, until something is done.
 * @param {HTMLElement} element
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 */
export function createHint(element, data, store) {
  const solid = data.meta.maps[store.state.map].dimensions === 3;
  const touch = matchMedia("(hover: none)").matches;
  const narrow = element.parentElement.clientWidth < 560;
  element.textContent =
    touch || narrow
      ? `${touch ? "Tap" : "Click"} a point to read its ${data.nouns.row}`
      : `Drag to ${solid ? "turn" : "move"} · wheel to zoom · click a point to read it · ? for help`;
  element.hidden = false;
  const done = () => {
    element.hidden = true;
    off();
  };
  /** @type {import("../state/store.js").Key[]} */
  const keys = ["document", "topic", "node", "word", "selected", "matches", "stage", "map", "mode"];
  const off = store.on([...keys, "tab", "color"], done);
  setTimeout(done, 20000);
}
