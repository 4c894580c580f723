// When notifications came: a bar for each second of the last two minutes, what came above the line and what went below.

import { el, svg } from "./dom.js";
import { throttled } from "./frames.js";
import { clock } from "./moments.js";

const SECONDS = 120;
const [WIDTH, HEIGHT] = [720, 72];
const LISTED = 50;

export class TimeLine {
  constructor() {
    this.list = el("ol", { class: "log", tabindex: 0, "aria-label": "Notifications, the newest first" });
    this.place = el("div");
    this.element = el("div", {}, this.place, el("div", { class: "ends", "aria-hidden": "true" },
      ...["2 minutes ago", "1 minute ago", "now"].map(text => el("span", {}, text))), this.list);
    this.soon = throttled(() => this.draw(), 250);
    this.clear();
  }

  clear() {
    this.seconds = new Map(); // second -> [added, removed]
    this.latest = [];
    this.drawn = null;
    this.soon();
  }

  add({ sequence, addedResults, removedResults }, moment) {
    const second = Math.floor(moment / 1000);
    const counts = this.seconds.get(second) ?? [0, 0];
    const now = [addedResults.results.bindings.length, removedResults.results.bindings.length];
    this.seconds.set(second, [counts[0] + now[0], counts[1] + now[1]]);
    for (const old of this.seconds.keys()) if (old < second - SECONDS) this.seconds.delete(old);
    this.latest.unshift([sequence, moment, now]);
    this.latest.length = Math.min(this.latest.length, LISTED);
    this.soon();
  }

  // The present has gone on.
  move() {
    if (this.drawn !== null && this.seconds.size && this.drawn !== Math.floor(Date.now() / 1000)) this.bars();
  }

  draw() {
    this.bars();
    this.list.replaceChildren(...this.latest.map(([sequence, moment, [added, removed]]) => el("li", {},
      `#${sequence} ${clock(moment)} `, el("b", {}, `+${added} \u2212${removed}`))));
  }

  bars() {
    const end = Math.floor(Date.now() / 1000);
    this.drawn = end;
    const shown = [...this.seconds].filter(([second]) => second > end - SECONDS);
    const most = Math.max(1, ...shown.flatMap(([, counts]) => counts));
    const step = WIDTH / SECONDS;
    const bars = shown.flatMap(([second, counts]) => counts.map((count, side) => {
      const height = (count / most) * (HEIGHT / 2 - 2);
      return svg("rect", {
        class: side ? "removed" : "added", x: (second - end + SECONDS - 1) * step, width: step - 1,
        y: side ? HEIGHT / 2 : HEIGHT / 2 - height, height,
      });
    }));
    const sums = shown.reduce(([added, removed], [, counts]) => [added + counts[0], removed + counts[1]], [0, 0]);
    this.place.replaceChildren(svg("svg", {
      class: "timeline", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
      "aria-label": `The last ${SECONDS} seconds: ${sums[0]} rows added, ${sums[1]} removed`,
    }, svg("line", { class: "rule", x1: 0, x2: WIDTH, y1: HEIGHT / 2, y2: HEIGHT / 2 }), ...bars));
  }
}
