// The answer to a subscription's query: a bag, as rows can be there twice.  What has just come or gone is marked so.

import { keyOf } from "./terms.js";

export const GLOW_MS = 2000;
export const MOST_ROWS = 200_000;

export class Bag {
  constructor() {
    this.clear();
  }

  clear() {
    this.variables = [];
    this.rows = []; // { row, key, state: "" | "added" | "removed", until }, the oldest first
    this.byKey = new Map();
    this.marked = [];
    this.size = 0;
  }

  // One notification.  First results are not marked: all of them would glow.
  apply({ sequence, addedResults, removedResults }, now) {
    for (const name of addedResults.head.vars) if (!this.variables.includes(name)) this.variables.push(name);
    for (const row of removedResults.results.bindings) this.remove(row, now);
    for (const row of addedResults.results.bindings) this.add(row, sequence > 0 ? "added" : "", now);
    if (this.size > MOST_ROWS) throw new Error(`the answer has more than ${MOST_ROWS} rows: too many for a page`);
  }

  add(row, state, now) {
    const entry = { row, key: keyOf(row, this.variables), state, until: now + GLOW_MS };
    this.rows.push(entry);
    this.size += 1;
    const same = this.byKey.get(entry.key);
    if (same) same.push(entry);
    else this.byKey.set(entry.key, [entry]);
    if (state) this.marked.push(entry);
  }

  remove(row, now) {
    const key = keyOf(row, this.variables);
    const same = this.byKey.get(key);
    const entry = same?.pop();
    if (entry === undefined) throw new Error("a row was removed that is not there: follow it anew");
    if (same.length === 0) this.byKey.delete(key);
    this.size -= 1;
    entry.state = "removed";
    entry.until = now + GLOW_MS;
    this.marked.push(entry);
  }

  // Takes marks away whose time is up; whether there were any.
  settle(now) {
    const due = this.marked.filter(entry => entry.until <= now);
    if (due.length === 0) return false;
    this.marked = this.marked.filter(entry => entry.until > now);
    if (due.some(entry => entry.state === "removed")) {
      this.rows = this.rows.filter(entry => entry.state !== "removed" || entry.until > now);
    }
    for (const entry of due) if (entry.state === "added") entry.state = "";
    return true;
  }

  // What is in it now, without what is fading.
  *held() {
    for (const entry of this.rows) if (entry.state !== "removed") yield entry.row;
  }
}
