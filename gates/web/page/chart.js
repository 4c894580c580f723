// Numbers over time, drawn as SVG: lines with dots where they are few.  Times are in UTC.

import { el, svg } from "./dom.js";
import { dates } from "./moments.js";
import { compact, rounded, scale, ticks } from "./scale.js";

const [WIDTH, HEIGHT] = [1100, 260];
const PLACE = { left: 56, right: 12, top: 12, bottom: 28 };
const LABEL = 36; // half of the longest
const MOST_POINTS = 2000; // of a series; no screen has more columns
const FEW = 60;

// `series` is name -> [[moment, number], ...]; with `zero` the axis of numbers begins there.
export function chart(series, label, { zero = false } = {}) {
  const lines = [...series].map(([name, points]) => [name, thinned(points.toSorted((one, other) => one[0] - other[0]))]);
  const all = lines.flatMap(([, points]) => points);
  if (all.length === 0) return el("p", { class: "muted" }, "Nothing to draw yet.");
  const times = bounds(all, 0);
  const values = bounds(all, 1);
  const range = rounded(zero ? [0, Math.max(1, values[1])] : values);
  const alone = times[0] === times[1] ? 1 : 0; // then in the middle
  const x = scale([times[0] - alone, times[1] + alone], [PLACE.left, WIDTH - PLACE.right]);
  const y = scale(range, [HEIGHT - PLACE.bottom, PLACE.top]);
  const drawing = svg("svg", {
    class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${label}: ${inWords(lines, times, values)}`,
  }, ...axes(times, range, x, y), ...lines.map((line, number) => drawn(line, number, x, y)));
  const legend = lines.length > 1 && el("ul", { class: "legend" }, ...lines.map(([name], number) => (
    el("li", {}, el("span", { class: `swatch s${number % 8}`, "aria-hidden": "true" }), name))));
  return el("figure", {}, drawing, legend);
}

function bounds(points, at) {
  let [low, high] = [Infinity, -Infinity];
  for (const point of points) {
    low = Math.min(low, point[at]);
    high = Math.max(high, point[at]);
  }
  return [low, high];
}

function thinned(points) {
  const step = Math.ceil(points.length / MOST_POINTS);
  return step > 1 ? points.filter((_, at) => at % step === 0 || at === points.length - 1) : points;
}

function axes(times, values, x, y) {
  const lines = ticks(...values).map(value => svg("g", {},
    svg("line", { class: "rule", x1: PLACE.left, x2: WIDTH - PLACE.right, y1: y(value), y2: y(value) }),
    svg("text", { x: PLACE.left - 6, y: y(value) + 4, "text-anchor": "end" }, compact(value))));
  const moments = dates(...times).flatMap(([moment, text]) => [
    svg("line", { class: "rule", x1: x(moment), x2: x(moment), y1: HEIGHT - PLACE.bottom, y2: HEIGHT - PLACE.bottom + 4 }),
    svg("text", { x: Math.min(x(moment), WIDTH - LABEL), y: HEIGHT - 8, "text-anchor": "middle" }, text),
  ]);
  const zone = svg("text", { x: 0, y: HEIGHT - 8 }, "UTC");
  return [...lines, ...moments, zone];
}

function drawn([name, points], number, x, y) {
  const path = points.map(([time, value], at) => `${at ? "L" : "M"}${x(time).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const dots = points.length <= FEW ? points.map(([time, value]) => svg("circle", { cx: x(time), cy: y(value), r: 3 },
    svg("title", {}, `${name} ${value} ${new Date(time).toISOString()}`))) : [];
  return svg("g", { class: `series s${number % 8}` }, svg("path", { d: path }), ...dots);
}

function inWords(lines, times, [low, high]) {
  const count = lines.reduce((sum, [, points]) => sum + points.length, 0);
  const [from, to] = times.map(moment => new Date(moment).toISOString().slice(0, 19));
  return `${lines.length} series, ${count} points from ${from} to ${to}, values from ${compact(low)} to ${compact(high)}`;
}
