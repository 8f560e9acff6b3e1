// Elements from JavaScript, without inline styles or markup strings, so that a strict content policy has nothing to refuse.

/** An element. `props`: `class`, `on` (listeners by event), `data` (data-*), `css` (properties set by script), attributes. */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  apply(element, props);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** The same for SVG. */
export function svg(tag, props = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  apply(element, props);
  element.append(...children.flat().filter(Boolean));
  return element;
}

function apply(element, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "css") for (const [key, own] of Object.entries(value)) element.style.setProperty(key, own);
    else if (name === "class") element.setAttribute("class", value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

export const byId = (id) => document.getElementById(id);

export function icon(name) {
  return svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: `#i-${name}` }));
}

/** Calls `run` once things have been quiet for `wait` ms; `.now()` calls at once, `.cancel()` not at all. */
export function debounced(run, wait) {
  let timer = 0;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...given), wait);
  };
  later.cancel = () => clearTimeout(timer);
  later.now = (...given) => {
    clearTimeout(timer);
    return run(...given);
  };
  return later;
}

/** Only the latest of several overlapping answers counts: `begin()` aborts the one before and gives a fresh signal. */
export class Latest {
  #controller = null;

  begin() {
    this.stop();
    this.#controller = new AbortController();
    return this.#controller.signal;
  }

  stop() {
    this.#controller?.abort();
    this.#controller = null;
  }
}

/** A message about what went wrong, to stand near where it did; nothing for an answer that nobody waits for any more. */
export function problem(error) {
  if (error.name === "AbortError") return null;
  return h("p", { class: "problem", role: "alert" }, error.message);
}
