// Where things are: nodes on a circle, those of a region side by side, regions that are near each other as neighbours.
//
// So short links stay at the rim and long ones cross the middle.  The same overlay always looks the same, and the order of
// regions is kept while they are the same: a delay that wavers must not turn the picture round.

export const RADIUS = 372;
const GAPS = 0.16; // of the circle, between regions
const FAR = 1000; // ms, between regions that no link joins

// The regions' names in order; `before` is the order so far.
export function ordered(nodes, links, before = []) {
  const names = [...new Set(nodes.map(node => node.region))].sort();
  if (names.length === before.length && names.every(name => before.includes(name))) return before;
  const known = distances(nodes, links, names);
  return shortened(chained(names, known), known);
}

// Mean delays between regions, over others where they are not linked themselves (Floyd and Warshall).
function distances(nodes, links, names) {
  const at = new Map(names.map((name, number) => [name, number]));
  const regionOf = new Map(nodes.map(node => [node.id, at.get(node.region)]));
  const sums = names.map(() => names.map(() => [0, 0]));
  for (const { from, to, ms } of links) {
    if (ms === null) continue;
    for (const [one, other] of [[from, to], [to, from]]) {
      const cell = sums[regionOf.get(one)][regionOf.get(other)];
      cell[0] += ms;
      cell[1] += 1;
    }
  }
  const far = sums.map((row, one) => row.map(([ms, count], other) => (one === other ? 0 : count ? ms / count : FAR)));
  for (const over of names.keys()) {
    for (const one of names.keys()) {
      for (const other of names.keys()) far[one][other] = Math.min(far[one][other], far[one][over] + far[over][other]);
    }
  }
  return { at, far };
}

// From the first by name on, always the nearest that is left.
function chained(names, { at, far }) {
  const left = new Set(names);
  const chain = [];
  let last = null;
  while (left.size) {
    let next = null;
    for (const name of left) {
      if (next === null || (last !== null && far[at.get(last)][at.get(name)] < far[at.get(last)][at.get(next)])) next = name;
    }
    left.delete(next);
    chain.push(next);
    last = next;
  }
  return chain;
}

// Parts of the circle are turned round as long as that makes it shorter.
function shortened(chain, { at, far }) {
  const size = chain.length;
  const ms = (one, other) => far[at.get(chain[one % size])][at.get(chain[other % size])];
  for (let round = 0, better = true; better && round < 50; round += 1) {
    better = false;
    for (let from = 0; from < size - 1; from += 1) {
      for (let to = from + 1; to < size; to += 1) {
        if (from === 0 && to === size - 1) continue;
        const before = ms(from + size - 1, from) + ms(to, to + 1);
        if (ms(from + size - 1, to) + ms(from, to + 1) < before - 1e-9) {
          chain.splice(from, to - from + 1, ...chain.slice(from, to + 1).reverse());
          better = true;
        }
      }
    }
  }
  const first = chain.indexOf([...chain].sort()[0]);
  return [...chain.slice(first), ...chain.slice(0, first)];
}

// { places: id -> { angle, x, y }, arcs: [{ region, from, to, count }], room } for nodes in the order of regions.
export function placed(nodes, order) {
  const groups = order.map(region => [region, nodes.filter(node => node.region === region)]);
  const gap = order.length > 1 ? (2 * Math.PI * GAPS) / order.length : 0;
  const step = (2 * Math.PI - gap * order.length) / Math.max(1, nodes.length);
  const places = new Map();
  const arcs = [];
  let angle = -Math.PI / 2 + gap / 2;
  for (const [region, members] of groups) {
    const from = angle;
    for (const node of members) {
      places.set(node.id, at(angle + step / 2, RADIUS));
      angle += step;
    }
    const inset = Math.min(step / 2, 0.02) * 0.6;
    arcs.push({ region, from: from + inset, to: angle - inset, count: members.reduce((all, node) => all + node.count, 0) });
    angle += gap;
  }
  return { places, arcs, room: step * RADIUS };
}

export const at = (angle, radius) => ({ angle, x: radius * Math.cos(angle), y: radius * Math.sin(angle) });

// A curve between two places that bends to the middle, the more so the further they are apart.
export function curve(one, other) {
  const apart = Math.hypot(one.x - other.x, one.y - other.y) / (2 * RADIUS);
  const pull = 0.95 - 0.9 * apart;
  const [x, y] = [((one.x + other.x) / 2) * pull, ((one.y + other.y) / 2) * pull];
  return `M${round(one.x)} ${round(one.y)}Q${round(x)} ${round(y)} ${round(other.x)} ${round(other.y)}`;
}

export function arc({ from, to }, radius) {
  const [start, end] = [at(from, radius), at(to, radius)];
  return `M${round(start.x)} ${round(start.y)}A${radius} ${radius} 0 ${to - from > Math.PI ? 1 : 0} 1 ${round(end.x)} ${round(end.y)}`;
}

const round = number => Number(number.toFixed(1));
