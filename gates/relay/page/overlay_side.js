// Beside and below the picture: the node that is looked at, and all of them as a table, for those who can't see it.

import { el } from "./dom.js";
import { Grid } from "./grid.js";
import { bandOf, milliseconds } from "./overlay_bands.js";
import { meanTo } from "./overlay_graph.js";

export class Details {
  constructor() {
    this.element = el("section", { class: "details", "aria-label": "The node that is looked at" });
    this.show(null);
  }

  show(node, graph) {
    if (node === null) {
      this.element.replaceChildren(el("p", { class: "muted" }, "Point at a node, or go round with the arrow keys, to see its links; choose it to keep it."));
      return;
    }
    const region = node.region || "no region";
    const facts = [
      graph.bundled ? ["Nodes", node.count] : ["Region", region], ["Consumers", node.consumers],
      ["Publishes", node.publishes ? "yes" : "no"],
      ["Mean of its links", milliseconds(node.mean)],
      ["Mean to all others", milliseconds(meanTo(graph, node.id))],
      ...(node.at ? [["Streams at", node.at]] : []),
    ];
    this.element.replaceChildren(
      el("h2", {}, graph.bundled ? region : node.id),
      el("dl", {}, ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))])),
      el("h3", {}, graph.bundled ? "Linked regions" : "Neighbours"),
      el("ul", { class: "neighbours" }, ...node.links.map(([id, ms]) => el("li", {},
        el("span", { class: `swatch band ${bandOf(ms)}`, "aria-hidden": "true" }), el("span", {}, id || "no region"), el("b", {}, milliseconds(ms))))));
  }
}

export class Listing {
  constructor() {
    this.grid = new Grid("Nodes", { cells: row => row });
    this.grid.columns(["node", "region", "publishes", "consumers", "mean of its links", "neighbours"]);
    this.element = el("details", { on: { toggle: () => this.grid.refresh() } }, el("summary", {}, "The same as a table"), this.grid.element);
  }

  show(told) {
    const rows = Object.entries(told.nodes).sort(([one], [other]) => (one < other ? -1 : 1)).map(([id, node]) => {
      const near = Object.entries(node.neighbours ?? {});
      const known = near.map(([, ms]) => ms).filter(Number.isFinite);
      const mean = known.length ? known.reduce((all, ms) => all + ms, 0) / known.length : null;
      return [id, node.region ?? "", node.publishes ? "yes" : "no", String(node.consumers ?? 0), milliseconds(mean), near.map(([peer, ms]) => `${peer} ${milliseconds(ms)}`).join(", ")];
    });
    this.grid.show(rows.length, number => rows[number]);
  }
}
