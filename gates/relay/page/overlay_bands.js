// Delays as colors: a few bands that are always the same, so that a color means the same on every day.

import { el } from "./dom.js";

// Up to so many milliseconds one way; the last band has no end.
export const BANDS = [2, 10, 30, 60, 100, Infinity];
const NONE = "none";

export function bandOf(ms) {
  return ms === null ? NONE : `b${BANDS.findIndex(most => ms <= most)}`;
}

export function milliseconds(ms) {
  if (ms === null || ms === undefined) return "\u2013";
  return `${ms < 10 ? Number(ms.toPrecision(2)) : Math.round(ms)} ms`;
}

export function legend() {
  const words = BANDS.map((most, at) => (most === Infinity ? `over ${BANDS[at - 1]} ms` : `${at ? `${BANDS[at - 1]}\u2013` : "up to "}${most} ms`));
  return el("div", { class: "bands" }, el("span", { id: "bands" }, "One way over a link:"), el("ul", { class: "legend", "aria-labelledby": "bands" },
    ...words.map((text, at) => el("li", {}, el("span", { class: `swatch band b${at}`, "aria-hidden": "true" }), text))),
  el("p", { class: "muted" }, "The larger a node, the more consumers; with a ring, it publishes."));
}
