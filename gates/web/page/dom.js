// Elements, made in one expression; what is put into them is text, never markup.

const NAMESPACES = { svg: "http://www.w3.org/2000/svg" };

// `attributes` are set as such; `on` is a table of listeners.  Children are nodes or texts.
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(NAMESPACES.svg, tag), attributes, children);
}

function filled(node, { on = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, String(value));
  }
  for (const [name, listener] of Object.entries(on)) node.addEventListener(name, listener);
  node.append(...children.filter(child => child != null && child !== false));
  return node;
}

export function button(text, listener, attributes = {}) {
  return el("button", { type: "button", ...attributes, on: { click: listener } }, text);
}

// A line under a form that says how it went; screen readers hear it.
export function outcome(id) {
  const node = el("output", { id, "aria-live": "polite" });
  return {
    node,
    say(text, bad = false) {
      node.textContent = text;
      node.classList.toggle("bad", bad);
    },
  };
}

// "1 row", "2 rows".
export const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
