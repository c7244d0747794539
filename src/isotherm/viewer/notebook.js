// The explorer as a widget of a notebook: a frame with the page, and messages to and from it.
//
// The page is sandboxed without an origin of its own: it can reach neither the notebook nor what the
// notebook may reach. It is heard only through messages, and only those that its own window sends.

const KIND = "isotherm explorer";

/** Whether a message holds rows, and nothing else that could pass for them. */
function rowsIn(given) {
  return Array.isArray(given) && given.every((row) => Number.isInteger(row) && row >= 0);
}

/**
 * Shows the widget.
 * @param {{model: any, el: HTMLElement}} context of anywidget
 * @returns {() => void} what takes it down again
 */
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.title = model.get("_title");
  frame.style.cssText = "display:block;width:100%;border:0";
  const fit = () => {
    frame.style.height = `${model.get("height")}px`;
  };
  // What the page said last is not said back to it.
  let last = "";
  const tell = () => {
    const selected = model.get("selected");
    if (String(selected) === last) return;
    last = String(selected);
    frame.contentWindow?.postMessage({ kind: KIND, selected }, "*");
  };
  const hear = (event) => {
    if (event.source !== frame.contentWindow || event.data?.kind !== KIND) return;
    if (!rowsIn(event.data.selected)) return;
    last = String(event.data.selected);
    if (event.data.ready) {
      tell(); // Python may have selected something before the page was there
      return;
    }
    model.set("selected", event.data.selected);
    model.save_changes();
  };
  window.addEventListener("message", hear);
  model.on("change:selected", tell);
  model.on("change:height", fit);
  fit();
  frame.srcdoc = model.get("_page");
  el.append(frame);
  return () => {
    window.removeEventListener("message", hear);
    model.off("change:selected", tell);
    model.off("change:height", fit);
  };
}

export default { render };
