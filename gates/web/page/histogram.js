// How often which latency was: a bar for each bucket.

import { svg } from "./dom.js";

const [WIDTH, HEIGHT, FOOT] = [1100, 160, 22];

export function histogram(buckets, label) {
  const last = buckets.findLastIndex(([, count]) => count > 0);
  const shown = buckets.slice(0, Math.max(last + 1, 4));
  const most = Math.max(1, ...shown.map(([, count]) => count));
  const step = WIDTH / shown.length;
  const words = shown.filter(([, count]) => count > 0).map(([bound, count]) => `${count} within ${seconds(bound)}`);
  return svg("svg", {
    class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${label}: ${words.join(", ") || "none yet"}`,
  }, ...shown.flatMap(([bound, count], at) => {
    const height = (count / most) * (HEIGHT - FOOT - 16);
    const middle = (at + 0.5) * step;
    return [
      svg("rect", { class: "bar", x: at * step + 2, width: step - 4, y: HEIGHT - FOOT - height, height }),
      svg("text", { x: middle, y: HEIGHT - 6, "text-anchor": "middle" }, bound === Infinity ? "more" : `\u2264 ${seconds(bound)}`),
      count > 0 && svg("text", { x: middle, y: HEIGHT - FOOT - height - 4, "text-anchor": "middle" }, String(count)),
    ];
  }));
}

export function seconds(value) {
  if (value === null) return "\u2013";
  if (value === Infinity) return "more";
  if (value >= 1) return `${Number(value.toPrecision(3))} s`;
  return `${Number((value * 1000).toPrecision(3))} ms`;
}
