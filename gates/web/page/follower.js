// One subscription as people see it: the bag, the time line, the chart.  JSAP's queries use it, too.

import { announce } from "./announce.js";
import { Bag } from "./bag.js";
import { chart } from "./chart.js";
import { button, counted, el, outcome } from "./dom.js";
import { csvOf, save } from "./download.js";
import { explained } from "./explained.js";
import { Batch, throttled } from "./frames.js";
import { Grid } from "./grid.js";
import { drawable, put } from "./series.js";
import { session } from "./session.js";
import { Subscription } from "./subscription.js";
import { shown } from "./terms.js";
import { TimeLine } from "./timeline.js";

const MOST_POINTS = 2000; // of a series
const SETTLE_MS = 250;

export class Follower {
  // `prefix` tells ids apart; `changed` is called when it begins or ends.
  constructor(prefix, changed) {
    this.changed = changed;
    this.said = outcome(`${prefix}-state`);
    this.why = el("p", { id: `${prefix}-explained`, class: "muted" });
    this.bag = new Bag();
    this.grid = new Grid("Answer, kept current", {
      cells: entry => this.bag.variables.map(name => shown(entry.row[name])), state: entry => entry.state,
    });
    this.line = new TimeLine();
    this.plot = el("div", { id: `${prefix}-chart` });
    this.pause = button("Pause", () => this.hold(), { "aria-pressed": "false" });
    this.size = el("output", { id: `${prefix}-size` });
    this.batch = new Batch(notifications => this.take(notifications));
    this.draw = throttled(() => this.plot.replaceChildren(chart(this.series, "Numbers")), 300);
    session.addEventListener("logout", () => this.stop());
    this.element = el("div", { hidden: true }, this.why, el("div", { class: "tools" }, this.pause,
      button("CSV", () => save("answer.csv", "text/csv", csvOf(this.bag.variables, [...this.bag.held()]))),
      button("JSON", () => save("answer.json", "application/sparql-results+json", this.json())), this.size),
    this.plot, this.grid.element, el("h3", {}, "Notifications"), this.line.element);
  }

  get running() {
    return this.subscription !== undefined;
  }

  start(sparql, graphs = {}) {
    this.stop();
    this.reset();
    this.element.hidden = false;
    this.why.textContent = "";
    this.said.say("subscribing \u2026");
    this.subscription = new Subscription(sparql, {
      notification: notification => this.batch.push([notification, Date.now()]),
      state: (text, bad) => this.state(text, bad, sparql),
      ended: why => this.ended(why, true),
    }, graphs);
    this.timer = setInterval(() => this.settle(), SETTLE_MS);
    this.changed();
  }

  stop() {
    if (!this.running) return;
    this.subscription.close();
    this.ended("stopped", false);
  }

  ended(why, bad) {
    this.batch.run();
    clearInterval(this.timer);
    this.subscription = undefined;
    this.settle();
    this.said.say(why, bad);
    this.changed();
  }

  reset() {
    this.bag.clear();
    this.line.clear();
    this.series = new Map();
    this.columns = null;
    this.plot.replaceChildren();
    this.held = null;
    this.pause.setAttribute("aria-pressed", "false");
  }

  state(text, bad, sparql) {
    if (this.said.node.textContent === text) return;
    this.said.say(text, bad);
    if (text === "following") explained(sparql).then(words => { this.why.textContent = words; });
  }

  // What came since the last frame.
  take(notifications) {
    const now = performance.now();
    try {
      for (const [notification, moment] of notifications) this.one(notification, moment, now);
    } catch (error) {
      this.subscription?.close();
      this.ended(error.message, true);
      return;
    }
    this.refresh();
    if (notifications.length) this.tell(notifications);
  }

  one(notification, moment, now) {
    if (notification.sequence === 0) this.reset();
    const before = this.bag.variables.length;
    this.bag.apply(notification, now);
    if (this.bag.variables.length !== before) this.grid.columns(this.bag.variables);
    if (notification.sequence > 0) this.line.add(notification, moment);
    const rows = notification.addedResults.results.bindings;
    this.columns ??= drawable(this.bag.variables, rows, true);
    if (this.columns === null || rows.length === 0) return;
    for (const row of rows) put(this.series, this.columns, row, moment);
    for (const points of this.series.values()) if (points.length > MOST_POINTS) points.splice(0, points.length - MOST_POINTS);
    if (!this.held) this.draw();
  }

  tell(notifications) {
    const count = side => notifications.reduce((sum, [one]) => sum + one[side].results.bindings.length, 0);
    announce(`${counted(count("addedResults"), "row")} added, ${count("removedResults")} removed`);
  }

  // The newest first.
  refresh() {
    this.size.textContent = counted(this.bag.size, "row");
    const rows = this.held ?? this.bag.rows;
    this.grid.show(rows.length, number => rows[rows.length - 1 - number]);
  }

  settle() {
    if (this.bag.settle(performance.now()) && !this.held) this.refresh();
    this.line.move();
  }

  // The display stands still; what comes meanwhile is not lost.
  hold() {
    this.held = this.held ? null : [...this.bag.rows];
    this.pause.setAttribute("aria-pressed", String(this.held !== null));
    if (!this.held) {
      this.draw();
      this.refresh();
    }
  }

  json() {
    return JSON.stringify({ head: { vars: this.bag.variables }, results: { bindings: [...this.bag.held()] } });
  }
}
