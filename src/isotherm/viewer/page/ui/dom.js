/** Elements made by script. Every text goes through textContent: data can never become markup. */

const SVG = "http://www.w3.org/2000/svg";

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = value;
    else if (name === "vars") {
      for (const [key, one] of Object.entries(value)) element.style.setProperty(`--${key}`, one);
    } else if (name in element && (name === "value" || name === "checked" || name === "hidden")) {
      element[name] = value;
    } else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false),
  );
  return element;
}

/**
 * @template {string} T
 * @typedef {T extends `${infer Name}.${string}` ? Tagged<Name> :
 *   T extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[T] :
 *   HTMLElement} Tagged the element that a tag of h() makes
 */

/**
 * An element. Props: attributes; `text`; `vars` (custom properties of its style); `onclick` and the
 * like are listeners. Children: elements or texts; null and false are left out.
 * @template {string} T
 * @param {T} tag a tag, with classes as in "div.row.wide"
 * @param {object|null} [props]
 * @param {...*} children
 * @returns {Tagged<T>}
 */
export function h(tag, props, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  return /** @type {Tagged<T>} */ (fill(element, props, children));
}

/**
 * An element of a picture (SVG), as h().
 * @param {string} tag
 * @param {object|null} [props]
 * @param {...*} children
 * @returns {SVGElement}
 */
export function s(tag, props, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElementNS(SVG, name);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  return fill(element, props, children);
}

/**
 * Puts these children in place of all there are. If the keyboard stood on one of them it stands on
 * the new one of the same name: pressing "next" twice must work.
 * @param {Element} element
 * @param {...*} children
 */
export function put(element, ...children) {
  const held =
    element.contains(document.activeElement) && document.activeElement !== element
      ? nameOf(document.activeElement)
      : null;
  element.replaceChildren(
    ...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false),
  );
  if (!held || element.contains(document.activeElement)) return;
  for (const one of element.querySelectorAll("button, input, select, [tabindex]")) {
    if (nameOf(one) === held) {
      /** @type {HTMLElement} */ (one).focus({ preventScroll: true });
      return;
    }
  }
}

/**
 * The element of a selector that something happened in, or null.
 * @param {Event} event
 * @param {string} selector
 * @returns {HTMLElement|null}
 */
export function within(event, selector) {
  return event.target instanceof Element ? event.target.closest(selector) : null;
}

function nameOf(element) {
  const inside = element.querySelector?.(".bar-name, .name")?.textContent;
  return element.id || element.getAttribute("aria-label") || inside || element.textContent;
}

const whole = new Intl.NumberFormat("en");

/**
 * A count with thousands separated.
 * @param {number} value
 */
export function count(value) {
  return whole.format(value);
}

/**
 * A number with as many digits as one reads: three significant ones.
 * @param {number|null} value
 */
export function short(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(1).replace("e+", "e");
  if (size >= 1000) return whole.format(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

/**
 * A value as it stands in a table, without separators: years stay years.
 * @param {number} value
 */
export function plain(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(5))) : "–";
}

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/**
 * A number in the least room: 12.4K, 0.031.
 * @param {number} value
 */
export function tiny(value) {
  return Math.abs(value) >= 1000
    ? compact.format(value).replace("-", "−")
    : short(value).replace("-", "−");
}

/**
 * A share as per cent: "12 %", "3.4 %", "< 0.1 %".
 * @param {number} value
 */
export function percent(value) {
  if (!Number.isFinite(value)) return "–";
  const hundredth = value * 100;
  if (hundredth > 0 && hundredth < 0.1) return "< 0.1 %";
  return `${hundredth >= 10 ? Math.round(hundredth) : Number(hundredth.toFixed(1))} %`;
}

/**
 * One button of icon and name; the name is read out where only the icon shows.
 * @param {string} name
 * @param {string} path d of a 24 × 24 path, stroked
 * @param {object} [props]
 */
export function iconButton(name, path, props = {}) {
  return h(
    "button.icon",
    { type: "button", title: name, "aria-label": name, ...props },
    icon(path),
  );
}

/**
 * An icon of one stroked path in a box of 24 × 24.
 * @param {string} path
 */
export function icon(path) {
  return s(
    "svg",
    { viewBox: "0 0 24 24", "aria-hidden": "true", class: "glyph" },
    s("path", { d: path }),
  );
}

/**
 * Calls fn once, `delay` ms after the last call.
 * @template {any[]} A
 * @param {(...args: A) => void} fn
 * @param {number} delay
 * @returns {(...args: A) => void}
 */
export function later(fn, delay) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => fn(...args), delay);
  };
}

/**
 * Why something could not be had, for the reader.
 * @param {unknown} error
 * @returns {string}
 */
export function reason(error) {
  // This is how browsers say that nobody answered.
  if (error instanceof TypeError)
    return "The server does not answer. Is “isotherm view” still running?";
  const message = error instanceof Error ? error.message : String(error);
  return message.charAt(0).toUpperCase() + message.slice(1);
}

/**
 * Hands the reader a file with this text.
 * @param {string} name
 * @param {Blob|string} content
 * @param {string} [type]
 */
export function download(name, content, type = "text/plain") {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
