// Numbers over time, drawn as SVG: lines with dots where they are few.  Times are in UTC.

import { el, svg } from "./dom.js";
import { clock, compact, rounded, scale, ticks } from "./scale.js";

const [WIDTH, HEIGHT] = [1100, 260];
const PLACE = { left: 56, right: 12, top: 12, bottom: 28 };
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
  const x = scale(times, [PLACE.left, WIDTH - PLACE.right]);
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
  const span = times[1] - times[0];
  const moments = span ? [0, 0.25, 0.5, 0.75, 1].map(part => times[0] + part * span) : [times[0]];
  return [...lines, ...moments.map((moment, at) => svg("text", {
    x: x(moment), y: HEIGHT - 8, "text-anchor": at === 0 ? "start" : at === 4 ? "end" : "middle",
  }, clock(moment, span)))];
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
