// Operations: is it well?  /metrics and /units, read every two seconds while this is seen.

import { get, getJson } from "./broker.js";
import { chart } from "./chart.js";
import { el, outcome } from "./dom.js";
import { CARDS, KINDS, LATENCY, UPDATES } from "./figures.js";
import { histogram, seconds } from "./histogram.js";
import { bucketsOf, quantile, samplesOf, sumOf } from "./prometheus.js";
import { bytes, compact } from "./scale.js";
import { paths } from "./settings.js";

const EVERY_MS = 2000;
const KEPT = 90; // readings: three minutes

export function operationsView() {
  const said = outcome("operations-state");
  const cards = el("dl", { class: "cards" });
  const rates = el("div");
  const latency = el("div");
  const kinds = el("tbody");
  const units = el("tbody", { id: "units" });
  let readings = [];
  let timer = null;
  let turn = 0; // of being seen

  const draw = () => {
    const [before, now] = [readings.at(-2) ?? readings.at(-1), readings.at(-1)];
    cards.replaceChildren(...CARDS.map(card => figure(card, before, now)).filter(Boolean));
    const points = readings.slice(1).map((one, at) => [one.moment, rate(UPDATES, readings[at], one)]);
    rates.replaceChildren(chart(new Map([["updates/s", points]]), "Updates a second", { zero: true }));
    const buckets = bucketsOf(now.samples, LATENCY);
    const recent = bucketsOf(now.samples, LATENCY, readings[0].samples);
    const words = [0.5, 0.99].map(part => `p${part * 100} ${seconds(quantile(recent, part))}`).join(", ");
    latency.replaceChildren(histogram(buckets, "Latency of updates"), el("p", { id: "quantiles", class: "muted" },
      `All updates since the start; of the last ${Math.round((now.moment - readings[0].moment) / 1000)} s: ${words}`));
  };
  const read = async () => {
    try {
      const { text } = await get(paths.metrics, "text/plain");
      readings = [...readings, { moment: Date.now(), samples: samplesOf(text) }].slice(-KEPT);
      const standing = (await getJson(paths.units)).units;
      draw();
      kinds.replaceChildren(...kindsOf(readings.at(-1).samples).map(kind => line(...kind)));
      units.replaceChildren(...standing.map(unit => line(unit.cases, unit.followed, unit.query)));
      said.say("");
    } catch (error) {
      said.say(error.status === 401 || error.status === 403 ? `For administrators: ${error.message}` : error.message, true);
    }
  };
  const loop = async own => {
    if (!document.hidden) await read();
    if (own === turn) timer = setTimeout(loop, EVERY_MS, own);
  };
  const element = el("div", {}, el("h2", {}, "Operations"), said.node, cards,
    el("h3", {}, "Updates a second"), rates, el("h3", {}, "Latency of updates"), latency,
    el("h3", {}, "Subscriptions by kind"), table("Subscriptions by kind", ["subscriptions", "followed", "form"], kinds),
    el("h3", {}, "Standing queries"), table("Standing queries", ["cases", "followed by", "query, or one of them"], units));
  return {
    id: "operations", title: "Operations", element,
    shown: () => { turn += 1; loop(turn); },
    hidden: () => { turn += 1; clearTimeout(timer); },
  };
}

function figure([title, name, asRate, unit, labels], before, now) {
  const value = asRate ? rate(name, before, now) : sumOf(now.samples, name, labels);
  return value === null ? null : el("div", {}, el("dt", {}, title), el("dd", {}, unit === "B" ? bytes(value) : `${compact(value)}${unit && ` ${unit}`}`));
}

// A broker that has started anew counts from nothing.
function rate(name, before, now) {
  const [first, last] = [sumOf(before.samples, name), sumOf(now.samples, name)];
  if (first === null || last === null) return null;
  const span = (now.moment - before.moment) / 1000;
  return span > 0 ? Math.max(0, last - first) / span : 0;
}

// [how many, how they are followed, the form of their query], the most first.
function kindsOf(samples) {
  return samples.filter(({ name, value }) => name === KINDS && value > 0)
    .map(({ labels, value }) => [value, labels.followed, labels.form])
    .sort((one, other) => other[0] - one[0]);
}

const line = (...texts) => el("tr", {}, ...texts.map(text => el("td", {}, String(text))));

function table(label, names, body) {
  return el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": label }, el("table", { class: "plain", "aria-label": label },
    el("thead", {}, el("tr", {}, ...names.map(name => el("th", { scope: "col" }, name)))), body));
}
