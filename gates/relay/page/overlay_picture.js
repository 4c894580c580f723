// The drawing.  Each node and each link keeps its element while it is there, so what changes moves, and the focus stays.

import { svg } from "./dom.js";
import { bandOf, milliseconds } from "./overlay_bands.js";
import { RADIUS, arc, at, curve, ordered, placed } from "./overlay_ring.js";

const ARC = RADIUS + 25;
const LABEL = RADIUS + 39;
const UPRIGHT = 20; // regions whose names do not need to be turned
const NAME_CHARACTERS = 18;
const FONT = "600 15px system-ui, sans-serif"; // of a name, as in overlay.css where it is looked at
const MARGIN = 30; // for a name's height
const LEAST = 80; // for its length
const LARGEST = 24; // radius of a node
const ink = document.createElement("canvas").getContext("2d"); // to measure names with

export class Picture {
  // `chosen(id)` hears which node is looked at, null for none.
  constructor(chosen) {
    this.chosen = chosen;
    this.nodes = new Map();
    this.links = new Map();
    this.order = [];
    this.pinned = this.current = null;
    this.layers = ["arcs", "links", "nodes"].map(name => svg("g", { class: name }));
    this.element = svg("svg", {
      class: "overlay", role: "group",
      "aria-label": "Overlay: a node for each relay, arrow keys go round", on: {
        keydown: event => this.key(event),
        click: event => { if (event.target === this.element) this.pin(null); },
      },
    }, ...this.layers);
  }

  show(graph) {
    this.order = ordered(graph.nodes, graph.links, this.order);
    const { places, arcs, room } = placed(graph.nodes, this.order);
    this.ring = this.order.flatMap(region => graph.nodes.filter(node => node.region === region));
    this.element.classList.toggle("many", graph.links.length > 160);
    this.element.classList.toggle("bundled", graph.bundled);
    set(this.element, { viewBox: boxOf(arcs, graph.bundled) });
    this.layers[0].replaceChildren(...(this.order.length > 1 || this.order[0] ? arcs.flatMap(one => this.arc(one, arcs.length, graph.bundled)) : []));
    const most = Math.max(1, ...graph.links.map(link => link.count));
    keep(this.links, this.layers[1], graph.links, link => link.key, () => svg("path"), (path, link) => {
      path.link = link;
      set(path, {
        class: `link ${bandOf(link.ms)}`, d: curve(places.get(link.from), places.get(link.to)),
        "stroke-width": graph.bundled ? (1 + 7 * Math.sqrt(link.count / most)).toFixed(1) : null,
      });
    });
    const largest = Math.max(1, ...graph.nodes.map(node => node.count));
    keep(this.nodes, this.layers[2], this.ring, node => node.id, node => this.node(node), (group, node) => {
      const place = places.get(node.id);
      const radius = graph.bundled ? 7 + 16 * Math.sqrt(node.count / largest) : sizeOf(node.consumers, room);
      group.node = node;
      group.classList.toggle("publishes", node.publishes);
      set(group, { "aria-label": wordsOf(node, graph.bundled) });
      set(group.firstChild, { cx: place.x.toFixed(1), cy: place.y.toFixed(1), r: radius.toFixed(1) });
      set(group.lastChild, { cx: place.x.toFixed(1), cy: place.y.toFixed(1), r: Math.max(radius, room / 2, 5).toFixed(1) });
    });
    if (!this.nodes.has(this.pinned)) this.pinned = null;
    if (!this.nodes.has(this.current)) this.current = this.pinned;
    this.mark();
  }

  arc(one, count, bundled) {
    const middle = (one.from + one.to) / 2;
    const turned = count > UPRIGHT;
    const place = at(middle, LABEL);
    const left = Math.cos(middle) < -0.1;
    const right = Math.cos(middle) > 0.1;
    const text = svg("text", {
      x: place.x.toFixed(1), y: place.y.toFixed(1), "data-region": one.region,
      "text-anchor": turned ? (Math.cos(middle) < 0 ? "end" : "start") : left ? "end" : right ? "start" : "middle",
      "dominant-baseline": turned || left || right ? "middle" : middle < 0 ? "auto" : "hanging",
      transform: turned ? `rotate(${((middle * 180) / Math.PI + (Math.cos(middle) < 0 ? 180 : 0)).toFixed(1)} ${place.x.toFixed(1)} ${place.y.toFixed(1)})` : null,
    }, nameOf(one, bundled), svg("title", {}, `${one.region || "no region"}: ${one.count} nodes`));
    return [svg("path", { class: "arc", d: arc(one, ARC), "data-region": one.region }), text];
  }

  node(node) {
    return svg("g", {
      class: "node", role: "button", tabindex: -1, "aria-pressed": "false", on: {
        pointerenter: () => this.look(node.id),
        pointerleave: () => this.look(this.pinned),
        focus: () => this.look(node.id),
        blur: () => this.look(this.pinned),
        click: () => this.pin(this.pinned === node.id ? null : node.id),
      },
    }, svg("circle", { class: "dot" }), svg("circle", { class: "reach" }));
  }

  look(id) {
    this.current = id;
    this.mark();
  }

  pin(id) {
    this.pinned = this.current = id;
    this.mark();
  }

  mark() {
    const node = this.nodes.get(this.current)?.node ?? null;
    const near = new Set(node ? [node.id, ...node.links.map(([id]) => id)] : []);
    const regions = new Set();
    this.element.classList.toggle("some", node !== null);
    for (const [id, group] of this.nodes) {
      group.classList.toggle("on", id === this.current);
      group.classList.toggle("near", near.has(id));
      group.setAttribute("aria-pressed", String(id === this.pinned));
      if (near.has(id)) regions.add(group.node.region);
    }
    for (const path of this.links.values()) path.classList.toggle("on", node !== null && [path.link.from, path.link.to].includes(node.id));
    for (const part of this.layers[0].children) part.classList.toggle("on", regions.has(part.dataset.region));
    this.rove();
    this.chosen(node);
  }

  // One of the nodes can be reached by the tab key: the last that was looked at, else the first.
  rove() {
    const focused = [...this.nodes.values()].find(group => group === document.activeElement);
    const wanted = focused ?? this.nodes.get(this.pinned) ?? this.nodes.get(this.ring[0]?.id);
    for (const group of this.nodes.values()) group.setAttribute("tabindex", group === wanted ? "0" : "-1");
  }

  key(event) {
    const here = this.ring.findIndex(node => this.nodes.get(node.id) === document.activeElement);
    if (here < 0) return;
    const size = this.ring.length;
    const to = {
      ArrowRight: (here + 1) % size, ArrowDown: (here + 1) % size, ArrowLeft: (here + size - 1) % size, ArrowUp: (here + size - 1) % size,
      Home: 0, End: size - 1,
    }[event.key];
    if (to !== undefined) this.nodes.get(this.ring[to].id).focus();
    else if (event.key === "Enter" || event.key === " ") this.pin(this.pinned === this.ring[here].id ? null : this.ring[here].id);
    else if (event.key === "Escape") this.pin(null);
    else return;
    event.preventDefault();
  }
}

function nameOf({ region, count }, bundled) {
  const name = region || "no region";
  const short = name.length > NAME_CHARACTERS ? `${name.slice(0, NAME_CHARACTERS - 1)}\u2026` : name;
  return bundled ? `${short} \u00b7 ${count}` : short;
}

// As large as the ring and the names around it need, and no larger.
function boxOf(arcs, bundled) {
  ink.font = FONT;
  const name = Math.max(LEAST, ...arcs.map(one => Math.ceil(ink.measureText(nameOf(one, bundled)).width)));
  const [across, down] = [LABEL + name, LABEL + (arcs.length > UPRIGHT ? name : MARGIN)];
  return `${-across} ${-down} ${2 * across} ${2 * down}`;
}

// Elements by key: those of `wanted` are there afterwards, in its order as far as that matters to nobody but the tab key.
function keep(kept, layer, wanted, keyOf, make, fill) {
  const keys = new Set(wanted.map(keyOf));
  for (const [key, element] of kept) {
    if (keys.has(key)) continue;
    element.remove();
    kept.delete(key);
  }
  for (const item of wanted) {
    const key = keyOf(item);
    let element = kept.get(key);
    if (!element) {
      element = make(item);
      kept.set(key, element);
      layer.append(element);
    }
    fill(element, item);
  }
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null) element.removeAttribute(name);
    else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
  }
}

// By consumers, in powers of ten: a relay of a thousand must not hide its neighbours.
function sizeOf(consumers, room) {
  const least = Math.max(3, Math.min(8, room / 2.4));
  return Math.min(LARGEST, least * (1 + 0.5 * Math.log10(1 + consumers)), Math.max(least, room * 0.55));
}

function wordsOf(node, bundled) {
  const what = bundled ? `region ${node.region || "none"}, ${node.count} nodes` : `${node.id}, ${node.region ? `region ${node.region}` : "no region"}`;
  return `${what}, ${node.publishes ? "publishes, " : ""}${node.consumers} consumers, ${node.links.length} links of ${milliseconds(node.mean)} in the mean`;
}
