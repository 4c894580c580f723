// An overlay as the tracker tells it, made ready to be drawn: nodes with their links, or regions where there are too many.

export const MOST_NODES = 256; // that are drawn one by one; and regions, where there are more nodes
export const OTHERS = "other regions"; // the smallest, where there are too many: anybody names regions

// { nodes: [{ id, region, consumers, publishes, at, links: [[id, ms]], mean, count }], links: [{ from, to, ms, count }], total, bundled }
// `ms` is one way, null where nobody has measured it; `mean` is that of a node's own links.
export function graphOf(told, most = MOST_NODES) {
  const known = new Map(Object.entries(told.nodes ?? {}));
  const links = new Map();
  for (const [id, node] of known) {
    for (const [peer, ms] of Object.entries(node.neighbours ?? {})) {
      if (peer !== id && known.has(peer)) join(links, ...[id, peer].sort(), number(ms));
    }
  }
  const nodes = [...known].map(([id, node]) => ({
    id, region: node.region ?? "", consumers: node.consumers ?? 0, at: node.streams_at ?? "", publishes: node.publishes === true, count: 1,
  }));
  const graph = linked(nodes.sort(byName), [...links.values()]);
  graph.total = { nodes: nodes.length, links: links.size, consumers: sum(nodes.map(node => node.consumers)) };
  return nodes.length > most ? bundled(graph, most) : { ...graph, bundled: false };
}

// Each region is one node, and all links between two regions one link, of their mean delay.
function bundled({ nodes, links, total }, most) {
  const sizes = [...Map.groupBy(nodes, node => node.region)].sort(([, one], [, other]) => other.length - one.length);
  const kept = new Set(sizes.slice(0, sizes.length > most ? most - 1 : most).map(([region]) => region));
  const regionOf = new Map(nodes.map(node => [node.id, kept.has(node.region) ? node.region : OTHERS]));
  const regions = Map.groupBy(nodes, node => regionOf.get(node.id));
  const between = new Map();
  for (const link of links) {
    const [from, to] = [regionOf.get(link.from), regionOf.get(link.to)].sort();
    if (from !== to) join(between, from, to, link.ms);
  }
  const merged = [...regions].map(([region, all]) => ({
    id: region, region, consumers: sum(all.map(node => node.consumers)), at: "", publishes: all.some(node => node.publishes), count: all.length,
  }));
  return { ...linked(merged.sort(byName), [...between.values()]), total, bundled: true };
}

function join(links, from, to, ms) {
  const key = JSON.stringify([from, to]);
  const link = links.get(key) ?? { key, from, to, count: 0, measured: 0, ms: null };
  link.count += 1;
  if (ms !== null) {
    link.ms = ((link.ms ?? 0) * link.measured + ms) / (link.measured + 1);
    link.measured += 1;
  }
  links.set(key, link);
}

function linked(nodes, links) {
  const of = new Map(nodes.map(node => [node.id, []]));
  for (const { from, to, ms } of links) {
    of.get(from).push([to, ms]);
    of.get(to).push([from, ms]);
  }
  for (const node of nodes) {
    node.links = of.get(node.id).sort(([one, a], [other, b]) => (a ?? Infinity) - (b ?? Infinity) || (one < other ? -1 : 1));
    node.mean = mean(node.links.map(([, ms]) => ms).filter(ms => ms !== null));
  }
  return { nodes, links };
}

// The fastest ways from a node (Dijkstra), and their mean; null where it reaches nobody.
export function meanTo({ nodes, links }, source) {
  const of = new Map(nodes.map(node => [node.id, node.links]));
  const best = new Map([[source, 0]]);
  const done = new Set();
  while (done.size < best.size) {
    let next = null;
    for (const [id, ms] of best) if (!done.has(id) && (next === null || ms < best.get(next))) next = id;
    done.add(next);
    for (const [id, ms] of of.get(next) ?? []) {
      const way = best.get(next) + (ms ?? 0);
      if (!done.has(id) && way < (best.get(id) ?? Infinity)) best.set(id, way);
    }
  }
  best.delete(source);
  return links.length ? mean([...best.values()]) : null;
}

const byName = (one, other) => (one.region < other.region ? -1 : one.region > other.region ? 1 : one.id < other.id ? -1 : 1);
const number = value => (typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null);
const sum = values => values.reduce((all, value) => all + value, 0);
const mean = values => (values.length ? sum(values) / values.length : null);
