/** Curves against temperature: hot at the left, cold at the right, on a logarithmic axis. */

import { s, short, tiny } from "./dom.js";

const PAD = { left: 42, right: 14, top: 20, bottom: 18 };

/**
 * Where a temperature stands, 0 (hottest) to 1.
 * @param {number} temperature
 * @param {[number, number]} ends hottest, coldest
 */
export function along(temperature, [hot, cold]) {
  if (hot === cold) return 0.5;
  return (Math.log(hot) - Math.log(temperature)) / (Math.log(hot) - Math.log(cold));
}

/**
 * The temperature at such a place.
 * @param {number} place
 * @param {[number, number]} ends
 */
export function temperatureAt(place, [hot, cold]) {
  return Math.exp(Math.log(hot) + place * (Math.log(cold) - Math.log(hot)));
}

/**
 * One chart.
 * @param {{name: string, points: [number, number][], ends: [number, number], wide: number,
 *   high: number, zoom: number, transitions: number[], stages: number[], kept: number|null,
 *   cursor: number|null}} what
 *   points are (temperature, value); wide and high in px of the screen, zoom of all lettering
 * @returns {SVGElement}
 */
export function chart(what) {
  const { points, ends, zoom } = what;
  const wide = what.wide / zoom;
  const bottom = what.high / zoom - PAD.bottom;
  const high = bottom - PAD.top;
  const inner = wide - PAD.left - PAD.right;
  const x = (temperature) => PAD.left + along(temperature, ends) * inner;
  const values = points.map(([, value]) => value);
  const low = Math.min(...values);
  const top = Math.max(...values);
  const y = (value) => bottom - (top > low ? (value - low) / (top - low) : 0.5) * high;
  const line = points
    .map(
      ([temperature, value], at) =>
        `${at ? "L" : "M"}${x(temperature).toFixed(1)} ${y(value).toFixed(1)}`,
    )
    .join("");
  const inRange = (temperature) =>
    temperature <= ends[0] * 1.0001 && temperature >= ends[1] * 0.9999;
  const at = (temperature, name, from = PAD.top) =>
    s(`line.${name}`, { x1: x(temperature), x2: x(temperature), y1: from, y2: bottom });
  return s(
    "svg",
    {
      viewBox: `0 0 ${wide} ${bottom + PAD.bottom}`,
      width: what.wide,
      height: what.high,
      role: "img",
      "aria-label": `${what.name} against temperature, from ${short(values[0])} to ${short(values[values.length - 1])}`,
    },
    s("text.chart-name", { x: PAD.left, y: 12, text: what.name }),
    what.cursor !== null && inRange(what.cursor)
      ? s("text.chart-value", {
          x: wide - PAD.right,
          y: 12,
          "text-anchor": "end",
          text: tiny(valueAt(points, what.cursor)),
        })
      : null,
    what.transitions.filter(inRange).map((temperature) => at(temperature, "transition")),
    s("line.axis", { x1: PAD.left, x2: wide - PAD.right, y1: bottom, y2: bottom }),
    what.stages.filter(inRange).map((temperature) => at(temperature, "tick", bottom - 5)),
    what.kept !== null && inRange(what.kept)
      ? [
          at(what.kept, "kept"),
          s("path.kept-mark", { d: `M${x(what.kept) - 4} ${PAD.top - 5}h8l-4 6z` }),
        ]
      : null,
    s("path.curve", { d: line }),
    points.length === 1
      ? s("circle.curve-dot", { cx: x(points[0][0]), cy: y(points[0][1]), r: 3 })
      : null,
    what.cursor !== null && inRange(what.cursor)
      ? [
          at(what.cursor, "cursor"),
          s("circle.cursor-dot", { cx: x(what.cursor), cy: y(valueAt(points, what.cursor)), r: 4 }),
        ]
      : null,
    s("text.end", { x: PAD.left - 5, y: PAD.top + 8, "text-anchor": "end", text: tiny(top) }),
    top > low
      ? s("text.end", { x: PAD.left - 5, y: bottom, "text-anchor": "end", text: tiny(low) })
      : null,
    temperatureTicks(ends, inner).map((temperature) =>
      s("text.end", {
        x: x(temperature),
        y: bottom + 13,
        "text-anchor": "middle",
        text: short(temperature),
      }),
    ),
  );
}

/** The place along the axis of a pointer over a chart, 0..1. */
export function placeOf(svg, clientX) {
  const box = svg.getBoundingClientRect();
  const wide = svg.viewBox.baseVal.width;
  const x = ((clientX - box.left) / box.width) * wide;
  return Math.max(0, Math.min(1, (x - PAD.left) / (wide - PAD.left - PAD.right)));
}

function valueAt(points, temperature) {
  let best = points[0];
  for (const point of points) {
    if (Math.abs(Math.log(point[0] / temperature)) <= Math.abs(Math.log(best[0] / temperature)))
      best = point;
  }
  return best[1];
}

/** Round values in equal steps, for a range too narrow for powers of ten. */
function evenTicks(low, high) {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((digit) => digit * power >= rough);
  const ticks = [];
  for (let at = Math.ceil(low / step); at * step <= high * (1 + 1e-9); at++)
    ticks.push(Number((at * step).toPrecision(6)));
  return ticks;
}

/** Round temperatures (1, 2, 5 times powers of ten) that fit under the axis without touching. */
function temperatureTicks(ends, inner) {
  const [hot, cold] = ends;
  if (!(hot > cold)) return [hot];
  const ticks = [];
  for (let power = Math.floor(Math.log10(cold)); power <= Math.ceil(Math.log10(hot)); power++) {
    for (const digit of [1, 2, 5]) {
      const value = Number((digit * 10 ** power).toPrecision(3));
      if (value <= hot && value >= cold) ticks.push(value);
    }
  }
  if (ticks.length < 3) ticks.splice(0, Infinity, ...evenTicks(cold, hot));
  const room = 38 / inner;
  const kept = [];
  for (const value of ticks.reverse()) {
    if (!kept.length || along(value, ends) - along(kept[kept.length - 1], ends) > room)
      kept.push(value);
  }
  return kept;
}
