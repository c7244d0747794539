/** Rows of name, bar and figure: words of a topic, topics of a document, shares of labels. */

import { h } from "./dom.js";

/**
 * @typedef {object} Bar
 * @property {string} name
 * @property {number} value what is drawn, of `most`
 * @property {number} most
 * @property {string} text the figure
 * @property {string} [color] CSS
 * @property {number} [base] what is drawn behind it, fainter: what one would expect
 * @property {string} [title]
 * @property {boolean} [pressed]
 * @property {() => void} [onclick]
 */

/**
 * One bar.
 * @param {Bar} bar
 * @returns {HTMLElement}
 */
export function barRow(bar) {
  const share = (value) => String(Math.max(0, Math.min(1, value / (bar.most || 1))));
  const inside = [
    h("span.bar-name", { text: bar.name }),
    h(
      "span.bar-track",
      { "aria-hidden": "true" },
      bar.base === undefined ? null : h("i.base", { vars: { w: share(bar.base) } }),
      h("i", { vars: { w: share(bar.value), ...(bar.color ? { c: bar.color } : {}) } }),
    ),
    h("span.bar-text", { text: bar.text }),
  ];
  const title = bar.title ?? bar.name;
  if (!bar.onclick) return h("div.bar-row", { title }, inside);
  return h(
    "button.bar-row",
    {
      type: "button",
      title,
      onclick: bar.onclick,
      "aria-pressed": bar.pressed === undefined ? null : String(bar.pressed),
    },
    inside,
  );
}

/**
 * A heading over bars that have a fainter one behind them.
 * @param {string} text
 * @returns {HTMLElement}
 */
export function comparing(text) {
  return h("h3", null, text, h("small", { text: "grey: in the whole collection" }));
}

/**
 * Bars under one another, the first `most` of them, the rest behind a button.
 * @param {Bar[]} bars
 * @param {number} [most]
 * @param {"wide"|""} [look] wide: room for names of several words
 * @returns {HTMLElement}
 */
export function barList(bars, most = 20, look = "") {
  const list = h(`div.bars${look && `.${look}`}`, null, bars.slice(0, most).map(barRow));
  if (bars.length > most) {
    const more = h("button.plain", {
      type: "button",
      text: `Show ${Math.min(200, bars.length - most)} more`,
      onclick: () => {
        more.remove();
        list.append(barList(bars.slice(most, most + 200), 200, look));
      },
    });
    list.append(more);
  }
  return list;
}
