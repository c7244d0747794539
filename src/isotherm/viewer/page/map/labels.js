/** Names of topics in the map: the largest first, and none over another. */

import { css } from "../ui/colors.js";
import { fontOf } from "../gl/text.js";
import { fromLab, toLab } from "../ui/oklab.js";

const FADE = 180; // milliseconds
const GAP = 4; // CSS pixels between two labels
const EDGE = 6;

/**
 * @typedef {object} Label
 * @property {number} key topic
 * @property {string} text
 * @property {number[]} place coordinates 0..1 of the map
 * @property {number} weight larger ones go first
 * @property {boolean} first goes before all others
 * @property {number} strength 0..1 how clearly it is seen
 * @property {[number, number, number]|null} color of its points; null: that of text
 * @property {number} [size] CSS pixels
 */

const measure = document.createElement("canvas").getContext("2d");

/** Labels that appear and go softly. */
export class Labels {
  constructor() {
    /** @type {Label[]} */
    this.items = [];
    this.shown = new Map(); // key -> {label, box, opacity, wanted}
    this.widths = new Map();
    this.last = 0;
  }

  /**
   * @param {Label[]} items of one stage
   * @param {boolean} others whether they replace all there were
   */
  set(items, others) {
    const largest = Math.max(1e-9, ...items.map((item) => item.weight));
    this.items = items
      .map((item) => ({ ...item, size: 10.5 + 3.5 * Math.sqrt(item.weight / largest) }))
      .sort((a, b) => Number(b.first) - Number(a.first) || b.weight - a.weight);
    if (others) this.shown.clear();
  }

  /**
   * Finds room for the labels.
   * @param {import("./camera.js").Camera} camera
   */
  arrange(camera) {
    const taken = [];
    const wanted = new Set();
    // What is seen already goes first among equals, so that turning the map does not make it blink.
    const order = [...this.items].sort((a, b) => this.priority(b) - this.priority(a));
    const most = camera.width < 480 ? 14 : 22;
    const grown = Math.min(1.5, Math.max(1, Math.min(camera.width, camera.height) / 900));
    for (const item of order) {
      const label = { ...item, size: Math.round(item.size * grown) };
      const at = camera.project(label.place);
      if (at.w <= 0 || label.strength <= 0) continue;
      const text = shortened(label.text, most);
      const box = this.room(label, text, at, camera, taken);
      if (!box) continue;
      taken.push(box);
      wanted.add(label.key);
      const before = this.shown.get(label.key);
      this.shown.set(label.key, { label, text, box, opacity: before?.opacity ?? 0, at });
    }
    for (const [key, entry] of this.shown) {
      entry.wanted = wanted.has(key) ? entry.label.strength : 0;
      if (wanted.has(key)) continue;
      const at = camera.project(entry.label.place); // it moves on while it fades
      shift(entry.box, at.x - entry.at.x, at.y - entry.at.y);
      entry.at = at;
    }
  }

  priority(label) {
    const seen = this.shown.get(label.key)?.wanted > 0;
    return (label.first ? 1e6 : 0) + label.weight * (seen ? 1.5 : 1);
  }

  /** A free box at the place or just above or below it, or null. */
  room(label, text, at, camera, taken) {
    const width = this.width(text, label.size);
    const height = label.size * 1.25;
    for (const dy of [0, -height, height]) {
      const box = { x: at.x - width / 2, y: at.y - height / 2 + dy, width, height };
      if (box.x < EDGE || box.x + width > camera.width - EDGE) continue;
      if (box.y < EDGE || box.y + height > camera.height - EDGE) continue;
      if (!taken.some((other) => overlap(box, other))) return box;
    }
    return null;
  }

  width(text, size) {
    const key = `${size} ${text}`;
    if (!this.widths.has(key)) {
      measure.font = fontOf(size);
      this.widths.set(key, measure.measureText(text).width);
    }
    return this.widths.get(key);
  }

  /**
   * The labels as they are now; every call takes their fading on.
   * @param {object} how
   * @param {number} how.now milliseconds
   * @param {boolean} how.atOnce no fading
   * @param {number} how.clarity 0..1 of all of them
   * @param {"light"|"dark"} how.theme
   * @param {[number, number, number]} how.background
   * @returns {{writings: import("../gl/text.js").Writing[], fading: boolean}}
   */
  write({ now, atOnce, clarity, theme, background }) {
    const step = atOnce ? 1 : Math.min(0.34, (now - this.last) / FADE);
    this.last = now;
    let fading = false;
    const writings = [];
    const halo = css(background, 0.85);
    for (const [key, { label, text, box, ...entry }] of this.shown) {
      const gap = entry.wanted - entry.opacity;
      const opacity = entry.opacity + Math.max(-step, Math.min(step, gap));
      this.shown.get(key).opacity = opacity;
      if (opacity !== entry.wanted) fading = true;
      if (opacity <= 0 && entry.wanted <= 0) this.shown.delete(key);
      else {
        const ink = inkOf(label.color, theme);
        const { size } = label;
        const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
        writings.push({
          text,
          size,
          width: box.width,
          x,
          y,
          opacity: opacity * clarity,
          ink,
          halo,
        });
      }
    }
    return { writings, fading };
  }

  /**
   * The topic whose label is at a pixel.
   * @param {number} x
   * @param {number} y
   * @returns {number} -1 for none
   */
  at(x, y) {
    for (const [key, { box, opacity }] of this.shown) {
      const inside = x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
      if (inside && opacity > 0.3) return key;
    }
    return -1;
  }

  /** The boxes of the labels that are seen. */
  boxes() {
    return [...this.shown.values()].filter((entry) => entry.wanted > 0).map((entry) => entry.box);
  }
}

function overlap(a, b) {
  return (
    a.x < b.x + b.width + GAP &&
    b.x < a.x + a.width + GAP &&
    a.y < b.y + b.height &&
    b.y < a.y + a.height
  );
}

function shift(box, dx, dy) {
  box.x += dx;
  box.y += dy;
}

/** As many words of a name as have room, at least one. */
function shortened(text, most) {
  const words = text.split(", ");
  while (words.length > 1 && words.join(", ").length > most) words.pop();
  const kept = words.join(" ");
  return kept.length > most + 4 ? kept.slice(0, most) + "…" : kept;
}

/** The color of a topic, as dark or light as text must be. */
function inkOf(color, theme) {
  if (!color) return theme === "dark" ? "#e8eaee" : "#23262d";
  const [, a, b] = toLab(color);
  return css(fromLab([theme === "dark" ? 0.9 : 0.36, 0.6 * a, 0.6 * b]));
}
