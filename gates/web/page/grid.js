// A table of any length: only the rows that can be seen are in the document.
//
// Rows have one height, so where a row is follows from its number.  Each row keeps its element while it can be seen, so
// that what it does (glow, fade, be selected) is not begun anew when others come.

import { el } from "./dom.js";

const ROW = 28; // pixels, as in tables.css
const EXTRA = 6;

export class Grid {
  // `cells(row)` gives the texts of a row, `state(row)` its class.
  constructor(label, { cells, state = () => "" }) {
    this.cells = cells;
    this.state = state;
    this.made = new Map();
    this.count = 0;
    this.head = el("tr", { "aria-rowindex": 1 });
    this.before = el("tr", { class: "gap", "aria-hidden": "true" }, el("td"));
    this.after = el("tr", { class: "gap", "aria-hidden": "true" }, el("td"));
    this.body = el("tbody", {}, this.before, this.after);
    this.table = el("table", { "aria-label": label, "aria-rowcount": 0 }, el("thead", {}, this.head), this.body);
    this.element = el("div", {
      class: "grid", tabindex: 0, role: "region", "aria-label": label, on: { scroll: () => this.soon() },
    }, this.table);
    this.soon = () => {
      this.frame ??= requestAnimationFrame(() => {
        this.frame = undefined;
        this.refresh();
      });
    };
    new ResizeObserver(this.soon).observe(this.element);
  }

  columns(names) {
    this.head.replaceChildren(...names.map(name => el("th", { scope: "col" }, name)));
    this.width = names.length;
    for (const gap of [this.before, this.after]) gap.firstChild.colSpan = Math.max(1, names.length);
    this.made.clear();
    this.body.replaceChildren(this.before, this.after);
  }

  // `count` rows, of which `at(number)` is one: an object, the same for the same row.
  show(count, at) {
    this.count = count;
    this.at = at;
    this.table.setAttribute("aria-rowcount", String(count + 1));
    this.refresh();
  }

  refresh() {
    if (!this.at) return;
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.min(Math.floor(scrollTop / ROW), this.count) - EXTRA);
    const last = Math.min(this.count, Math.ceil((scrollTop + (clientHeight || 600)) / ROW) + EXTRA);
    const wanted = new Map();
    for (let number = first; number < last; number += 1) {
      const row = this.at(number);
      wanted.set(row, this.row(row, number));
    }
    for (const [row, line] of this.made) if (!wanted.has(row)) line.remove();
    this.made = wanted;
    this.place([...wanted.values()]);
    this.before.firstChild.style.height = `${first * ROW}px`;
    this.after.firstChild.style.height = `${(this.count - last) * ROW}px`;
  }

  row(row, number) {
    const line = this.made.get(row) ?? el("tr", {}, ...this.cells(row).map(text => cell(text)));
    const state = this.state(row);
    if (line.className !== state) line.className = state;
    line.setAttribute("aria-rowindex", String(number + 2));
    return line;
  }

  // Moves as few as it can: an element that is moved begins its animation anew.
  place(lines) {
    let next = this.before.nextSibling;
    for (const line of lines) {
      if (next === line) next = next.nextSibling;
      else this.body.insertBefore(line, next);
    }
  }
}

function cell(text) {
  return el("td", text.length > 40 ? { title: text } : {}, text);
}
