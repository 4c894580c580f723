// Moments as people read them, in UTC as everything of the broker's: round ones for an axis, and the time of day.

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
const MONTH = 30.44 * DAY;
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500], ...[1, 2, 5, 10, 15, 30].map(count => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map(count => count * MINUTE), ...[1, 2, 3, 6, 12].map(count => count * HOUR),
  ...[1, 2, 4, 7, 14].map(count => count * DAY),
];
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200];

// About `wanted` round moments from `from` to `to`, as [moment, text]; no two texts are the same.
export function dates(from, to, wanted = 6) {
  if (from === to) return [[from, written(from, SECOND)]];
  const rough = (to - from) / wanted;
  const step = STEPS.find(size => size >= rough);
  const found = step ? multiples(from, to, step) : firsts(from, to, MONTHS.find(count => count * MONTH >= rough) ?? MONTHS.at(-1));
  return found.map(moment => [moment, written(moment, step ?? MONTH)]);
}

// The time of day of a moment, to the second.
export const clock = moment => `${new Date(moment).toISOString().slice(11, 19)}Z`;

function multiples(from, to, step) {
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.max(0, Math.floor(to / step) - first + 1) }, (_, at) => (first + at) * step);
}

// The first days of each `count`th month.
function firsts(from, to, count) {
  const begin = new Date(from);
  const found = [];
  let month = Math.floor((begin.getUTCFullYear() * 12 + begin.getUTCMonth()) / count) * count;
  for (let moment = first(month); moment <= to; month += count, moment = first(month)) if (moment >= from) found.push(moment);
  return found;
}

// Date.UTC takes years up to 99 for those of the twentieth century.
function first(month) {
  return new Date(0).setUTCFullYear(Math.floor(month / 12), ((month % 12) + 12) % 12, 1);
}

// As short as the steps between its neighbors allow; the first of a day is the day.
function written(moment, step) {
  const [day, time] = new Date(moment).toISOString().slice(0, -1).split("T");
  if (step >= MONTH) return day.slice(0, -3);
  if (step >= DAY || (moment % DAY === 0 && step >= MINUTE && step < 6 * HOUR)) return day;
  if (step >= 6 * HOUR) return `${day.slice(-5)} ${time.slice(0, 5)}`; // a time of day comes again
  if (step >= MINUTE) return time.slice(0, 5);
  if (step >= SECOND) return time.slice(0, 8);
  return time.slice(0, step >= 100 ? 10 : step >= 10 ? 11 : 12);
}
