/** The sheets that the map consists of, one over the other. */

const SHEETS = ["under", "points", "over"];
const SHARPEST = 2; // device pixels per CSS pixel; more costs time and shows nothing

/**
 * Canvases for what is below the points, the points, and what is above them; rings and a message.
 * @param {HTMLElement} element
 * @param {string} label what the map is, for those who do not see it
 */
export function createLayers(element, label) {
  const layers = { element, width: 1, height: 1, ratio: 1 };
  if (getComputedStyle(element).position === "static") element.style.position = "relative";
  for (const name of SHEETS) {
    const canvas = document.createElement("canvas");
    canvas.className = `map-${name}`;
    place(canvas, { position: "absolute", left: "0", top: "0", width: "100%", height: "100%" });
    layers[name] = canvas;
    element.append(canvas);
  }
  hide(layers, "under");
  hide(layers, "over");
  layers.contexts = { under: layers.under.getContext("2d"), over: layers.over.getContext("2d") };
  layers.hoverRing = ring(element);
  layers.openRing = ring(element);
  layers.surface = surface(element, label);
  layers.message = document.createElement("p");
  layers.message.className = "map-message";
  layers.message.hidden = true;
  layers.message.setAttribute("role", "status");
  place(layers.message, { position: "absolute", left: "1rem", right: "1rem", bottom: "0.5rem" });
  place(layers.message, { margin: "0", pointerEvents: "none", textAlign: "center" });
  element.append(layers.message);
  return layers;
}

function place(element, styles) {
  Object.assign(element.style, styles);
}

/** What a hand touches and keys go to: above all sheets, of which some come and go. */
function surface(element, label) {
  const input = document.createElement("div");
  input.className = "map-surface";
  input.tabIndex = 0;
  input.setAttribute("role", "application");
  input.setAttribute("aria-label", label);
  place(input, { position: "absolute", left: "0", top: "0", width: "100%", height: "100%" });
  place(input, { touchAction: "none", userSelect: "none", outlineOffset: "-3px", cursor: "grab" });
  element.append(input);
  return input;
}

/** A ring around one point: an element, so that the points need not be drawn again for it. */
function ring(element) {
  const circle = document.createElement("div");
  circle.className = "map-ring";
  circle.hidden = true;
  place(circle, { position: "absolute", left: "0", top: "0", borderRadius: "50%" });
  place(circle, { pointerEvents: "none", boxSizing: "border-box", border: "2px solid" });
  element.append(circle);
  return circle;
}

/**
 * Puts a ring around a place, or takes it away.
 * @param {HTMLElement} circle
 * @param {{x: number, y: number, radius: number}|null} at CSS pixels
 * @param {{line: string, halo: string}} colors
 */
export function showRing(circle, at, { line, halo }) {
  circle.hidden = at === null;
  if (at === null) return;
  const size = 2 * at.radius + 8;
  place(circle, { width: `${size}px`, height: `${size}px`, borderColor: line });
  circle.style.boxShadow = `0 0 0 2px ${halo}, inset 0 0 0 1px ${halo}`;
  circle.style.transform = `translate(${at.x - size / 2}px, ${at.y - size / 2}px)`;
}

/**
 * Makes the canvases as large as the element.
 * @param {ReturnType<typeof createLayers>} layers
 * @returns {boolean} whether anything has changed
 */
export function fitLayers(layers) {
  const width = Math.max(1, layers.element.clientWidth);
  const height = Math.max(1, layers.element.clientHeight);
  const ratio = Math.min(SHARPEST, window.devicePixelRatio || 1);
  if (width === layers.width && height === layers.height && ratio === layers.ratio) return false;
  Object.assign(layers, { width, height, ratio });
  for (const name of SHEETS) {
    layers[name].width = Math.round(width * ratio);
    layers[name].height = Math.round(height * ratio);
  }
  return true;
}

/**
 * Takes a sheet away that has nothing on it: even an empty one costs time in every frame.
 * @param {ReturnType<typeof createLayers>} layers
 * @param {"under"|"over"} name
 */
export function hide(layers, name) {
  layers[name].hidden = true;
}

/**
 * An empty sheet to draw on in CSS pixels.
 * @param {ReturnType<typeof createLayers>} layers
 * @param {"under"|"over"} name
 * @returns {CanvasRenderingContext2D}
 */
export function cleared(layers, name) {
  const context = layers.contexts[name];
  layers[name].hidden = false;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, layers[name].width, layers[name].height);
  context.setTransform(layers.ratio, 0, 0, layers.ratio, 0, 0);
  return context;
}

/**
 * The color behind an element.
 * @param {HTMLElement} element
 * @param {"light"|"dark"} theme for when nobody has set one
 * @returns {[number, number, number]}
 */
export function backgroundOf(element, theme) {
  for (let at = element; at; at = at.parentElement) {
    const channels =
      getComputedStyle(at)
        .backgroundColor.match(/[\d.]+/g)
        ?.map(Number) ?? [];
    if (channels.length === 3 || channels[3] > 0.5) return [channels[0], channels[1], channels[2]];
  }
  return theme === "dark" ? [18, 20, 24] : [255, 255, 255];
}

/**
 * All sheets as one picture.
 * @param {ReturnType<typeof createLayers>} layers
 * @param {string} background CSS
 * @returns {Promise<Blob>} PNG
 */
export function pictureOf(layers, background) {
  const canvas = document.createElement("canvas");
  canvas.width = layers.points.width;
  canvas.height = layers.points.height;
  const context = canvas.getContext("2d");
  context.fillStyle = background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  for (const name of SHEETS) if (!layers[name].hidden) context.drawImage(layers[name], 0, 0);
  return new Promise((resolve, reject) => {
    const failed = () => reject(new Error("The browser could not make a picture of the map."));
    canvas.toBlob((blob) => (blob ? resolve(blob) : failed()), "image/png");
  });
}
