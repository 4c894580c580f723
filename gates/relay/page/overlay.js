// The tracker's page: which streams it keeps, and a picture of the overlay of one of them, read again while it is seen.

import { announce } from "./announce.js";
import { getJson } from "./broker.js";
import { el, outcome } from "./dom.js";
import { legend, milliseconds } from "./overlay_bands.js";
import { MOST_NODES, graphOf } from "./overlay_graph.js";
import { Picture } from "./overlay_picture.js";
import { Details, Listing } from "./overlay_side.js";
import { tokenForm } from "./overlay_token.js";
import { hasToken, session } from "./session.js";
import { themeSwitch } from "./theme.js";

const EVERY_MS = 2000;
const whole = new Intl.NumberFormat("en").format;

const said = outcome("state");
const chooser = el("select", { id: "stream", on: { change: () => choose(chooser.value) } });
const form = tokenForm();
const cards = el("dl", { class: "cards" });
const details = new Details();
const listing = new Listing();
const picture = new Picture(node => details.show(node, graph));
const note = el("p", { class: "muted", hidden: true });
const nothing = el("p", { class: "muted", id: "nothing" }, "No stream has an overlay yet: it begins with the first node.");
const scene = el("div", { class: "scene" },
  el("figure", {}, picture.element, el("figcaption", {}, legend(), note)),
  el("div", { class: "side" }, cards, details.element));
const waiting = el("p", { class: "muted", id: "waiting", hidden: true },
  "The tracker waits until all relays have told it which links they have. Until then it changes none, and does not show those that it has not heard of.");
const view = el("div", { hidden: true }, waiting, scene, listing.element);

let streams = [];
let chosen = addressed();
let graph = null;
let text = "";
let timer = null;
let turn = 0;

document.querySelector("header").append(themeSwitch());
document.querySelector("main").append(
  el("div", { class: "tools" }, el("label", { for: "stream" }, "Stream"), chooser, said.node), form.element, nothing, view);
session.addEventListener("change", again);
addEventListener("hashchange", () => choose(addressed()));
document.addEventListener("visibilitychange", () => { if (!document.hidden) again(); });
again();

// The stream in the address, which anybody may have written.
function addressed() {
  try {
    return decodeURIComponent(location.hash.slice(1)) || null;
  } catch {
    return null;
  }
}

function choose(stream) {
  if (stream === chosen || stream === null) return;
  chosen = stream;
  history.replaceState(null, "", `#${encodeURIComponent(stream)}`);
  again();
}

function again() {
  clearTimeout(timer);
  turn += 1;
  loop(turn);
}

async function loop(own) {
  if (!document.hidden) await read(own);
  if (own === turn) timer = setTimeout(loop, EVERY_MS, own);
}

async function read(own) {
  try {
    const found = (await getJson("/streams")).streams;
    if (own !== turn) return;
    offer(found.map(one => one.stream).sort());
    if (chosen !== null && streams.includes(chosen)) {
      const named = encodeURIComponent(chosen);
      const [told, figures] = await Promise.all([
        getJson(`/topology/${named}`), getJson(`/latency?stream=${named}`).catch(() => ({})),
      ]);
      if (own === turn) show(told, figures);
    }
    said.say("");
    form.offer(hasToken());
  } catch (error) {
    if (own !== turn) return;
    if (error.status === 401 || error.status === 403) form.offer(true);
    view.hidden = true;
    nothing.hidden = true;
    text = "";
    said.say(error.status ? error.message : "the tracker can't be reached", true);
  }
}

function offer(names) {
  if (names.join("\n") !== streams.join("\n")) {
    streams = names;
    chooser.replaceChildren(...names.map(name => el("option", { value: name }, name)));
  }
  if (!streams.includes(chosen)) chosen = streams.at(0) ?? null;
  if (chosen !== null) chooser.value = chosen;
  nothing.hidden = streams.length > 0;
  view.hidden = streams.length === 0;
  chooser.parentElement.classList.toggle("empty", streams.length === 0);
}

function show(told, figures) {
  waiting.hidden = told.collecting !== true;
  const now = JSON.stringify([chosen, told.nodes]);
  tell(told, figures);
  if (now === text) return;
  text = now;
  const before = graph?.stream === chosen ? graph.total.nodes : null;
  graph = { ...graphOf(told), stream: chosen };
  picture.show(graph);
  listing.show(told);
  note.hidden = !graph.bundled;
  note.textContent = `More than ${MOST_NODES} nodes: each circle is a region, each line all links between two.`;
  tell(told, figures);
  if (before !== null && before !== graph.total.nodes) announce(`${chosen}: ${graph.total.nodes} nodes`);
}

function tell(told, figures) {
  if (!graph) return;
  const known = figures.pairs ? figures : {}; // of nobody there are no delays, and not 0 ms
  const shown = [
    ["Nodes", whole(graph.total.nodes)], ["Links", whole(graph.total.links)], ["Consumers", whole(graph.total.consumers)],
    ["Mean delay", milliseconds(known.mean_ms)], ["99 % within", milliseconds(known.p99_ms)],
    ["Hops at most", known.diameter_hops ?? "\u2013"],
  ];
  const content = shown.map(([title, value]) => el("div", {}, el("dt", {}, title), el("dd", {}, String(value))));
  if (cards.textContent !== content.map(one => one.textContent).join("")) cards.replaceChildren(...content);
}
