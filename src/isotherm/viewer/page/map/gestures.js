/** What fingers, mouse and keys mean. */

const CLICK = 4; // pixels that a hand may tremble

/**
 * @typedef {object} Meanings
 * @property {(dx: number, dy: number, other: boolean) => void} drag the other way: pan a deep map
 * @property {(factor: number, x: number, y: number) => void} zoom
 * @property {(x: number, y: number) => void} hover
 * @property {() => void} leave
 * @property {(x: number, y: number, touch: boolean) => void} click
 * @property {(path: [number, number][], done: boolean) => void} outline of a box or a lasso
 * @property {() => void} cancel
 * @property {(key: string, shift: boolean) => boolean} key whether it meant something
 * @property {() => string} mode what a plain drag does: "move", "box" or "lasso"
 */

/**
 * Listens to an element.
 * @param {HTMLElement} element
 * @param {Meanings} means
 * @returns {() => void} stops listening
 */
export function listen(element, means) {
  const fingers = new Map(); // pointers that are down
  let task = null; // what they are doing
  /** @type {[number, number]} */
  let start = [0, 0];
  let moved = false;
  /** @type {[number, number][]} */
  let path = [];

  /** @returns {[number, number]} */
  const at = (event) => {
    const box = element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  function taskOf(event) {
    if (event.shiftKey) return "box";
    if (event.altKey) return "lasso";
    if (event.button === 2 || event.button === 1 || event.ctrlKey || event.metaKey) return "other";
    return means.mode() === "move" ? "drag" : means.mode();
  }

  function down(event) {
    const place = at(event);
    fingers.set(event.pointerId, place);
    element.setPointerCapture(event.pointerId);
    element.focus({ preventScroll: true, focusVisible: false });
    if (fingers.size > 1) {
      if (task === "box" || task === "lasso") means.cancel();
      task = "pinch";
      moved = true;
      return;
    }
    task = taskOf(event);
    start = place;
    moved = false;
    path = [place];
  }

  function move(event) {
    const place = at(event);
    if (!fingers.has(event.pointerId)) {
      if (event.pointerType !== "touch") means.hover(...place);
      return;
    }
    const before = fingers.get(event.pointerId);
    if (task === "pinch") {
      pinch(event.pointerId, place);
      return;
    }
    if (!moved && Math.hypot(place[0] - start[0], place[1] - start[1]) < CLICK) return;
    if (!moved) means.leave();
    moved = true;
    fingers.set(event.pointerId, place);
    if (task === "drag" || task === "other") {
      means.drag(place[0] - before[0], place[1] - before[1], task === "other");
    } else {
      path = task === "box" ? corners(start, place) : [...path, place];
      means.outline(path, false);
    }
  }

  function pinch(id, place) {
    const pair = [...fingers.keys()].slice(0, 2);
    if (!pair.includes(id)) return;
    const one = fingers.get(id);
    const other = fingers.get(pair[0] === id ? pair[1] : pair[0]);
    fingers.set(id, place);
    if (!other) return;
    const wide = (point) => Math.max(8, Math.hypot(point[0] - other[0], point[1] - other[1]));
    means.drag((place[0] - one[0]) / 2, (place[1] - one[1]) / 2, true);
    means.zoom(wide(place) / wide(one), (place[0] + other[0]) / 2, (place[1] + other[1]) / 2);
  }

  function up(event) {
    if (!fingers.delete(event.pointerId)) return;
    const place = at(event);
    if (task === "pinch") {
      if (!fingers.size) task = null;
      return;
    }
    const kind = task;
    task = null;
    if (event.type === "pointercancel") means.cancel();
    else if (!moved) {
      if (event.button === 0) means.click(...place, event.pointerType === "touch");
    } else if (kind === "box" || kind === "lasso") means.outline(path, true);
  }

  function wheel(event) {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const amount = Math.max(-120, Math.min(120, event.deltaY * lines));
    // A pinch on a touchpad comes as a wheel with ctrl and small numbers.
    means.zoom(Math.exp(-amount * (event.ctrlKey ? 0.01 : 0.0025)), ...at(event));
  }

  function key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape" && task) {
      task = null;
      means.cancel();
    } else if (!means.key(event.key, event.shiftKey)) return;
    event.preventDefault();
  }

  const listeners = {
    pointerdown: down,
    pointermove: move,
    pointerup: up,
    pointercancel: up,
    pointerleave: () => fingers.size || means.leave(),
    wheel,
    keydown: key,
    contextmenu: (event) => event.preventDefault(),
  };
  for (const [type, fn] of Object.entries(listeners)) {
    element.addEventListener(type, fn, { passive: false });
  }
  return () =>
    Object.entries(listeners).forEach(([type, fn]) => element.removeEventListener(type, fn));
}

/**
 * @param {[number, number]} one
 * @param {[number, number]} other
 * @returns {[number, number][]} of the box between two places
 */
function corners([left, top], [right, bottom]) {
  return [
    [left, top],
    [right, top],
    [right, bottom],
    [left, bottom],
  ];
}
