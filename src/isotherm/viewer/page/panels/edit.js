/** Editing of the final topics on a live page: what can be done to one, and taking it back. */

import { h, put, reason } from "../ui/dom.js";

/** @typedef {import("../data/source.js").Change} Change */

const MOST_LETTERS = 80;
const PARTS = [2, 3, 4, 5];

/**
 * Controls of the topic that is open, and a line with the last edit; null where nothing is edited.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 * @param {import("../data/source.js").Source} source
 * @returns {{last: HTMLElement, element: HTMLElement, show: () => void}|null}
 */
export function createEditing(data, store, source) {
  const { editing } = data.meta;
  const { nouns } = data;
  if (!editing || !source.edit) return null;
  const can = (kind) => editing.kinds.includes(kind);
  const last = h("div.last-edit");
  const element = h("section.edit", { "aria-label": `Edit this ${nouns.component}` });
  const message = h("p.edit-message", { role: "alert", hidden: true });
  const work = h("p.quiet", { role: "status", hidden: true });
  let busy = false;
  let shown = -1;

  /** @param {Change} change @param {string} doing @param {number} topic that is open afterwards */
  async function edit(change, doing, topic) {
    if (busy) return;
    const from = document.activeElement;
    lock(true);
    message.hidden = true;
    work.textContent = `${doing} …`;
    work.hidden = false;
    try {
      await source.edit({ ...change, state: editing.state }, editing.token);
      reload(topic);
    } catch (error) {
      message.textContent = reason(error);
      message.hidden = false;
      work.hidden = true;
      lock(false);
      if (from instanceof HTMLElement) from.focus(); // what is disabled has no keyboard
    }
  }

  function lock(on) {
    busy = on;
    for (const part of [last, element]) {
      for (const control of part.querySelectorAll("button, input, select")) {
        control.toggleAttribute("disabled", on);
      }
    }
  }

  /** A page of the new topics, which looks at the same things as far as they are still there. */
  function reload(topic) {
    const params = new URLSearchParams(location.hash.slice(1));
    for (const key of ["topic", "node", "stage"]) params.delete(key);
    if (topic >= 0) params.set("topic", String(topic));
    const text = params.toString();
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
    location.reload();
  }

  const button = (text, onclick) => h("button", { type: "button", text, onclick });

  function nameRow(k) {
    const name = h("input", {
      type: "text",
      id: "edit-name",
      value: data.topics[k].name,
      maxlength: MOST_LETTERS,
      "aria-label": `Name of this ${nouns.component}`,
      onkeydown: (event) => event.key === "Enter" && rename(),
    });
    const rename = () => edit({ kind: "rename", topics: [k], name: name.value }, "Renaming", k);
    return h("div.tool-row", null, name, button("Rename", rename));
  }

  function mergeRow(k) {
    const alike = (data.topics[k].similar ?? []).map(([other]) => other);
    const rest = data.topics.map((_, other) => other).filter((other) => !alike.includes(other));
    const free = [...alike, ...rest].filter(
      (other) => other !== k && data.topics[other] && !editing.pinned.includes(other),
    );
    if (!free.length) return null;
    const other = h(
      "select",
      { id: "edit-other", "aria-label": `Other ${nouns.component}, the most similar first` },
      free.map((one) => h("option", { value: String(one), text: data.topics[one].name })),
    );
    const merge = () => {
      const topics = [k, Number(other.value)];
      edit({ kind: "merge", topics }, "Merging", Math.min(...topics));
    };
    return h("div.tool-row", null, other, button("Merge", merge));
  }

  function splitRow(k) {
    const parts = h(
      "select",
      { id: "edit-parts", "aria-label": "Number of parts" },
      PARTS.map((number) => h("option", { value: String(number), text: `into ${number}` })),
    );
    const split = () =>
      edit({ kind: "split", topics: [k], into: Number(parts.value) }, "Splitting", k);
    return [button("Split", split), parts];
  }

  function controls(k) {
    const pinned = editing.pinned.includes(k);
    const drop = () => edit({ kind: "drop", topics: [k] }, "Dropping", -1);
    const pin = () => edit({ kind: "pin", topics: [k] }, "Pinning", k);
    const others = pinned
      ? []
      : [
          can("split") ? splitRow(k) : null,
          can("drop") && data.topics.length > 2 ? button("Drop", drop) : null,
          can("pin") ? button("Pin", pin) : null,
        ];
    return [
      h("h3", { text: `Edit this ${nouns.component}` }),
      pinned
        ? h("p.quiet", {
            text: "It is pinned: other edits leave it as it is, until that is undone.",
          })
        : null,
      nameRow(k),
      can("merge") && !pinned && data.topics.length > 2 ? mergeRow(k) : null,
      others.some(Boolean) ? h("div.tool-row", null, others) : null,
    ];
  }

  put(
    last,
    editing.last
      ? h(
          "div.tool-row",
          null,
          h("span.quiet.grow", { text: `Last edit: ${editing.last}` }),
          button("Undo", () => edit({ kind: "undo", topics: [] }, "Taking it back", -1)),
        )
      : null,
    work,
    message,
  );

  return {
    last,
    element,
    show() {
      const { topic, stage } = store.state;
      const now = stage < data.lastStage || !data.topics[topic] ? -1 : topic;
      if (now === shown) return; // what is being typed stays
      shown = now;
      element.hidden = now < 0;
      message.hidden = true;
      put(element, now < 0 ? [] : controls(now));
      if (busy) lock(true);
    },
  };
}
