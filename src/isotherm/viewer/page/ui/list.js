/**
 * A long list of which only the rows in sight exist. Rows have one height; the keyboard walks it as
 * a list box whose focus stays on the list itself, so rows may come and go under it.
 */

import { h, put } from "./dom.js";

const MOST = 200000; // browsers cannot scroll higher boxes than some ten million pixels
let numbers = 0;

/**
 * A virtual list inside the nearest scrolling ancestor.
 * @param {{label: string, height: number, row: (at: number) => HTMLElement[],
 *   choose: (at: number) => void, enter?: (at: number) => void, same?: () => number}} options
 *   height in rem; `row` gives the contents of a row; `choose` is a click or Enter; `enter` is told
 *   which row is under the pointer or the keyboard (-1: none); `same` says which row is open.
 * @returns {{element: HTMLElement, show: (length: number, other?: boolean) => void,
 *   refresh: () => void}} `other` says that these are no longer the same things
 */
export function createList(options) {
  const id = `list-${++numbers}`;
  const element = h("div.list", {
    role: "listbox",
    tabindex: "0",
    "aria-label": options.label,
    id,
    vars: { row: `${options.height}rem` },
    onkeydown,
    onclick,
    onpointermove,
    onpointerleave: () => options.enter?.(-1),
    onblur: () => options.enter?.(-1),
  });
  let length = 0;
  let active = -1;
  let first = 0;
  let last = -1;
  let scroller = null;

  function rowHeight() {
    return options.height * parseFloat(getComputedStyle(document.documentElement).fontSize);
  }

  function scrollParent() {
    for (let at = element.parentElement; at; at = at.parentElement) {
      if (/auto|scroll/.test(getComputedStyle(at).overflowY)) return at;
    }
    return document.documentElement;
  }

  function attach() {
    if (scroller?.contains(element) || !element.isConnected) return;
    scroller = scrollParent();
    scroller.addEventListener("scroll", draw, { passive: true });
    new ResizeObserver(draw).observe(scroller);
  }

  function draw() {
    if (!element.isConnected || !element.offsetParent) return;
    attach();
    const high = rowHeight();
    const box = element.getBoundingClientRect();
    const view = scroller.getBoundingClientRect();
    const from = Math.max(0, Math.floor((view.top - box.top) / high) - 4);
    // A list below the fold still has its first rows, for those who do not see the page.
    const to = Math.min(length - 1, Math.max(2, Math.ceil((view.bottom - box.top) / high) + 4));
    if (from === first && to === last) return;
    fill(from, to);
  }

  function fill(from, to) {
    first = from;
    last = to;
    const open = options.same?.() ?? -1;
    const rows = [];
    for (let at = from; at <= to; at++) {
      const row = h(
        "div.list-row",
        {
          role: "option",
          id: `${id}-${at}`,
          "data-at": at,
          "aria-posinset": at + 1,
          "aria-setsize": length,
          "aria-selected": String(at === open),
          vars: { at: String(at) },
          class: `list-row${at === active ? " active" : ""}`,
        },
        options.row(at),
      );
      rows.push(row);
    }
    put(element, rows);
  }

  function refresh() {
    first = 0;
    last = -2;
    element.style.setProperty("--rows", String(length));
    draw();
  }

  function show(wanted, other = false) {
    length = Math.min(MOST, wanted);
    active = other ? -1 : Math.min(active, length - 1);
    refresh();
    // The list may have been made before it was put into the page.
    requestAnimationFrame(draw);
  }

  function walkTo(at) {
    active = Math.max(0, Math.min(length - 1, at));
    attach();
    const high = rowHeight();
    const top = element.getBoundingClientRect().top + active * high;
    const view = scroller.getBoundingClientRect();
    if (top < view.top) scroller.scrollTop += top - view.top;
    else if (top + high > view.bottom) scroller.scrollTop += top + high - view.bottom;
    refresh();
    element.setAttribute("aria-activedescendant", `${id}-${active}`);
    options.enter?.(active);
  }

  function onkeydown(event) {
    const to = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + 10,
      PageUp: active - 10,
      Home: 0,
      End: length - 1,
    }[event.key];
    if (to !== undefined && length) {
      event.preventDefault();
      event.stopPropagation();
      walkTo(to);
    } else if ((event.key === "Enter" || event.key === " ") && active >= 0) {
      event.preventDefault();
      event.stopPropagation();
      options.choose(active);
    }
  }

  function rowOf(event) {
    const row = event.target.closest?.(".list-row");
    return row ? Number(row.dataset.at) : -1;
  }

  function onclick(event) {
    const at = rowOf(event);
    if (at < 0 || event.target.closest("button")) return;
    active = at;
    options.choose(at);
  }

  let over = -1;
  function onpointermove(event) {
    const at = rowOf(event);
    if (at !== over) options.enter?.(at);
    over = at;
  }

  return { element, show, refresh };
}
