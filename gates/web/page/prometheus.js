// Prometheus' text format, read: what /metrics tells (exposition format 0.0.4).

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

// [{ name, labels, value }]
export function samplesOf(text) {
  const found = [];
  for (const line of text.split("\n")) {
    const match = line.startsWith("#") ? null : SAMPLE.exec(line);
    if (match === null) continue;
    const labels = Object.fromEntries([...(match[2] ?? "").matchAll(LABEL)].map(pair => [pair[1], pair[2]]));
    found.push({ name: match[1], labels, value: numberOf(match[3]) });
  }
  return found;
}

// The sum over all that have these labels, or null where there is none of that name.
export function sumOf(samples, name, labels = {}) {
  const wanted = Object.entries(labels);
  const values = samples.filter(sample => sample.name === name && wanted.every(([key, value]) => sample.labels[key] === value))
    .map(sample => sample.value);
  return values.length ? values.reduce((sum, value) => sum + value, 0) : null;
}

// [[upper bound, how many in this bucket alone], ...] of a histogram; what `before` had is taken away.
export function bucketsOf(samples, name, before = []) {
  const totals = sumsByBound(samples, name);
  const old = sumsByBound(before, name);
  let last = 0;
  return [...totals].sort((one, other) => one[0] - other[0]).map(([bound, total]) => {
    const count = total - (old.get(bound) ?? 0);
    const own = count - last;
    last = count;
    return [bound, Math.max(0, own)];
  });
}

function sumsByBound(samples, name) {
  const sums = new Map();
  for (const { name: own, labels, value } of samples) {
    if (own !== `${name}_bucket`) continue;
    const bound = numberOf(labels.le);
    sums.set(bound, (sums.get(bound) ?? 0) + value);
  }
  return sums;
}

// As Prometheus' histogram_quantile: linear within the bucket.  null without any observation.
export function quantile(buckets, part) {
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  let [seen, low] = [0, 0];
  for (const [bound, count] of buckets) {
    if (count > 0 && seen + count >= part * total) {
      return bound === Infinity ? low : low + (bound - low) * ((part * total - seen) / count);
    }
    seen += count;
    low = bound;
  }
  return null;
}

const numberOf = text => ({ "+Inf": Infinity, "-Inf": -Infinity }[text] ?? Number(text));
