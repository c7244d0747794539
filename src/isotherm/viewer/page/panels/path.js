/** The annealing path: how the model came about from hot to cold, and a slider that goes there. */

import { h, put, short, count, iconButton, icon } from "../ui/dom.js";
import { chart, along, placeOf } from "../ui/charts.js";
import { showStage } from "../state/actions.js";
import { capital } from "../ui/layout.js";

const PLAY = "M8 5l11 7-11 7z";
const PAUSE = "M8 5v14M16 5v14";
const MOST_JUMPS = 8;
const STEP = 900; // ms a stage is shown while the path runs

/**
 * Temperatures of transitions of a cooling: the first, and the splits of the tree where they are
 * known; else where the number of components grows, unless it grows nearly everywhere.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../data/format.js").CoolingMeta} cooling
 * @returns {number[]}
 */
export function transitionsOf(data, cooling) {
  const { tree } = data;
  const temperatures = new Set();
  if (Number.isFinite(cooling.first_critical)) temperatures.add(cooling.first_critical);
  if (cooling.name === "topics" && tree?.splits?.length && tree.kind !== "hierarchy") {
    tree.splits.forEach((temperature) => temperatures.add(temperature));
  } else {
    const grown = cooling.trace.filter(
      (record, at) =>
        at && Math.round(record.n_effective) > Math.round(cooling.trace[at - 1].n_effective),
    );
    if (grown.length <= MOST_JUMPS) grown.forEach((record) => temperatures.add(record.temperature));
  }
  return [...temperatures].sort((a, b) => b - a).slice(0, 40);
}

/**
 * Fills the dock at the bottom.
 * @param {HTMLElement} element
 * @param {import("../data/explorer.js").Explorer} data
 * @param {import("../state/store.js").Store} store
 */
export function createPath(element, data, store) {
  const coolings = data.meta.coolings.filter((cooling) => cooling.trace.length);
  if (!coolings.length && data.stages.length < 2) return;
  element.hidden = false;
  let shown = 0;
  const row = h("div.charts-row");
  const under = h("div");
  const charts = h("div.charts", { id: "charts" }, row, under);
  const said = h("output.path-said", { for: "temperature" });
  const slider = h("input", {
    type: "range",
    id: "temperature",
    min: "0",
    max: String(data.lastStage),
    step: "1",
    "aria-label": "Temperature, from hot to cold",
    oninput: () => {
      store.set({ playing: false });
      showStage(store, data, Number(slider.value));
    },
  });
  const play = iconButton("Run the path (Space)", PLAY, {
    onclick: () => store.set({ playing: !store.state.playing }),
  });
  const fold = iconButton("Fold or unfold the charts", "M6 9l6 6 6-6", {
    "aria-expanded": "true",
    "aria-controls": "charts",
    onclick: () => open(charts.hidden),
  });
  const names = coolings.map((cooling, at) =>
    h("button", {
      type: "button",
      text: capital(cooling.name === "topics" ? data.nouns.components : cooling.name),
      onclick: () => {
        shown = at;
        draw();
      },
    }),
  );
  put(
    element,
    h(
      "header",
      null,
      h("h2", { text: "Annealing" }),
      names.length > 1
        ? h("div.group.switch", { role: "group", "aria-label": "Which cooling" }, names)
        : null,
      data.stages.length > 1
        ? [play, h("span.quiet", { text: "hot" }), slider, h("span.quiet", { text: "cold" })]
        : h("span.grow"),
      said,
      fold,
    ),
    charts,
  );

  function open(yes) {
    charts.hidden = !yes;
    fold.setAttribute("aria-expanded", String(yes));
    element.toggleAttribute("data-folded", !yes);
    if (yes) draw();
  }

  /** Curves of a cooling that have points: name and places. */
  function series(cooling) {
    const heldout = cooling.name === "topics" ? "Held-out perplexity" : "Held-out score";
    const parts = cooling.parts === "components" ? data.nouns.components : cooling.parts;
    const curve = (name, key) => ({
      name,
      points: cooling.trace
        .map((record) => [record.temperature, record[key]])
        .filter(([temperature, value]) => temperature > 0 && Number.isFinite(value)),
    });
    return [
      curve(heldout, "heldout"),
      curve(`Effective ${parts}`, "n_effective"),
      curve("Free energy", "free_energy"),
    ].filter(({ points }) => points.length);
  }

  function draw() {
    names.forEach((button, at) => button.setAttribute("aria-pressed", String(at === shown)));
    if (charts.hidden || !coolings.length) return;
    const cooling = coolings[shown];
    const temperatures = cooling.trace.map((record) => record.temperature).filter((one) => one > 0);
    /** @type {[number, number]} */
    const ends = [Math.max(...temperatures), Math.min(...temperatures)];
    const all = series(cooling);
    const style = getComputedStyle(row);
    const gap = parseFloat(style.columnGap) || 0;
    const inside = row.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const wide = Math.floor(
      Math.max(230, (inside - gap * (all.length - 1)) / Math.max(1, all.length)),
    );
    const zoom = parseFloat(getComputedStyle(document.documentElement).fontSize) / 15.5;
    const high = Math.round(Math.max(108 * zoom, Math.min(0.16 * innerHeight, 190 * zoom)));
    const ofTopics = cooling.name === "topics";
    const stage = data.stages[store.state.stage];
    put(
      row,
      all.map(({ name, points }) => {
        const svg = chart({
          name,
          points,
          ends,
          wide,
          high,
          zoom,
          transitions: transitionsOf(data, cooling),
          stages: ofTopics ? data.stages.map((one) => one.temperature) : [],
          kept: Number.isFinite(cooling.temperature) ? cooling.temperature : null,
          cursor: ofTopics && stage ? stage.temperature : null,
        });
        if (ofTopics && data.stages.length > 1) drag(svg, ends);
        return svg;
      }),
    );
    put(under, key(cooling));
  }

  function key(cooling) {
    const entry = (name, text) => h("span.key", null, h(`i.${name}`), text);
    return h(
      "p.charts-key",
      null,
      transitionsOf(data, cooling).length ? entry("transition", "transition") : null,
      Number.isFinite(cooling.temperature) ? entry("kept", "kept model") : null,
      data.stages.length > 1 && cooling.name === "topics" ? entry("tick", "kept on the way") : null,
      h("span", { text: "temperature →" }),
    );
  }

  /** Pointing at a chart goes to the stage whose temperature is nearest. */
  function drag(svg, ends) {
    svg.classList.add("scrub");
    const go = (event) => {
      const place = placeOf(svg, event.clientX);
      let best = 0;
      data.stages.forEach((one, at) => {
        if (
          Math.abs(along(one.temperature, ends) - place) <
          Math.abs(along(data.stages[best].temperature, ends) - place)
        )
          best = at;
      });
      showStage(store, data, best);
    };
    svg.addEventListener("pointerdown", (event) => {
      store.set({ playing: false });
      go(event);
      // Charts are drawn anew while one drags: the window keeps hold of the pointer.
      const up = () => {
        removeEventListener("pointermove", go);
        removeEventListener("pointerup", up);
      };
      addEventListener("pointermove", go);
      addEventListener("pointerup", up);
      event.preventDefault();
    });
  }

  function say() {
    const stage = data.stages[store.state.stage];
    if (!stage) {
      const cooling = coolings[shown];
      said.textContent =
        cooling && Number.isFinite(cooling.temperature)
          ? `kept at T ${short(cooling.temperature)}`
          : "";
      return;
    }
    const n = stage.n_topics ?? stage.topics.length;
    const final = store.state.stage >= data.lastStage ? ", final" : "";
    const text = `T ${short(stage.temperature)} · ${count(n)} ${n === 1 ? data.nouns.component : data.nouns.components}${final}`;
    said.textContent = text;
    slider.value = String(store.state.stage);
    slider.setAttribute("aria-valuetext", text);
  }

  let timer = 0;
  function run() {
    const { playing } = store.state;
    clearInterval(timer);
    play.replaceChildren(icon(playing ? PAUSE : PLAY));
    play.setAttribute("aria-pressed", String(playing));
    if (!playing) return;
    if (store.state.stage >= data.lastStage) showStage(store, data, 0);
    timer = setInterval(() => {
      showStage(store, data, store.state.stage + 1);
      if (store.state.stage >= data.lastStage) store.set({ playing: false });
    }, STEP);
  }

  store.on("playing", run);
  store.on("stage", () => {
    say();
    draw();
  });
  store.on("dark", draw);
  new ResizeObserver(() => requestAnimationFrame(draw)).observe(element);
  say();
  open(!matchMedia("(max-width: 760px), (max-height: 620px)").matches);
}
