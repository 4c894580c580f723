// Query: ask once, and look at the answer.

import { ask } from "./broker.js";
import { chart } from "./chart.js";
import { button, counted, el, outcome } from "./dom.js";
import { csvOf, save } from "./download.js";
import { editor } from "./editor.js";
import { Grid } from "./grid.js";
import { seriesOf } from "./series.js";
import { shown } from "./terms.js";

const MOST_ROWS = 500_000; // browsers have no boxes much higher than these rows are

// An answer as people see it: a drawing where that makes sense, the rows, files of them.
export class Answer {
  constructor(label) {
    this.label = label;
    this.grid = new Grid(label, { cells: row => this.variables.map(name => shown(row[name])) });
    this.plot = el("div");
    this.triples = el("pre", { hidden: true, tabindex: 0, "aria-label": "Triples" });
    this.bar = el("div", { class: "tools" });
    this.element = el("div", { hidden: true }, this.bar, this.plot, this.grid.element, this.triples);
  }

  // In words how large it is.
  show({ results, text }) {
    this.element.hidden = false;
    this.triples.hidden = results !== undefined;
    this.grid.element.hidden = results === undefined;
    this.plot.replaceChildren();
    if (results === undefined) return this.showTriples(text);
    this.variables = results.head.vars ?? ["boolean"];
    const rows = results.results?.bindings ?? [{ boolean: { type: "literal", value: String(results.boolean) } }];
    this.bar.replaceChildren(
      button("CSV", () => save("answer.csv", "text/csv", csvOf(this.variables, rows))),
      button("JSON", () => save("answer.json", "application/sparql-results+json", text)));
    this.grid.columns(this.variables);
    this.grid.element.scrollTop = 0;
    this.grid.show(Math.min(rows.length, MOST_ROWS), number => rows[number]);
    const series = seriesOf(this.variables, rows);
    if (series !== null) this.plot.replaceChildren(chart(series, this.label));
    const cut = rows.length > MOST_ROWS ? `, the first ${MOST_ROWS} are shown` : "";
    return counted(rows.length, "row") + cut;
  }

  showTriples(text) {
    this.bar.replaceChildren(button("Turtle", () => save("answer.ttl", "text/turtle", text)));
    this.triples.textContent = text;
    return "triples";
  }

  clear() {
    this.element.hidden = true;
  }
}

export function queryView() {
  const said = outcome("asked");
  const answer = new Answer("Answer");
  let asking = null;
  const run = async () => {
    if (asking) {
      asking.abort();
      return;
    }
    asking = new AbortController();
    toggle.textContent = "Stop";
    said.say("asking \u2026");
    const started = performance.now();
    try {
      const size = answer.show(await ask(text.text, {}, asking.signal));
      said.say(`${size}, ${(performance.now() - started).toFixed(0)} ms`);
    } catch (error) {
      answer.clear();
      said.say(asking.signal.aborted ? "stopped" : error.message, true);
    } finally {
      asking = null;
      toggle.textContent = "Ask";
    }
  };
  const toggle = button("Ask", run, { class: "main", title: "Ctrl-Enter" });
  const text = editor({ id: "query", label: "Query", text: "SELECT * WHERE { ?s ?p ?o } LIMIT 100", run });
  const element = el("div", {}, el("h2", {}, "Query"), text.element,
    el("div", { class: "tools" }, toggle, said.node), answer.element);
  return { id: "query", title: "Query", element, shown: () => answer.grid.refresh() };
}
