// What of rows can be drawn: numbers over moments, a series for each value of what else tells the rows apart.

import { momentOf, numberOf, shown } from "./terms.js";

const MOST_SERIES = 8;

// Which variables are moments, numbers and names; null where there is no number, or no moment and none is `given`.
export function drawable(variables, rows, given = false) {
  const moment = variables.find(name => rows.some(row => momentOf(row[name]) !== null)) ?? null;
  const numbers = variables.filter(name => rows.some(row => numberOf(row[name]) !== null));
  if (numbers.length === 0 || (moment === null && !given)) return null;
  const rest = variables.filter(name => name !== moment && !numbers.includes(name));
  const name = rest.find(one => {
    const values = new Set(rows.map(row => shown(row[one])));
    return values.size > 1 && values.size <= MOST_SERIES;
  }) ?? rest[0] ?? null;
  return { moment, numbers, name };
}

// Puts the numbers of one row into `series`; those of a row without a moment are of `now`.
export function put(series, { moment, numbers, name }, row, now = null) {
  const time = moment === null ? now : momentOf(row[moment]) ?? now;
  if (time === null) return;
  for (const variable of numbers) {
    const value = numberOf(row[variable]);
    if (value === null) continue;
    const label = [name && shown(row[name]), (numbers.length > 1 || !name) && variable].filter(Boolean).join(" ");
    const points = series.get(label);
    if (points) points.push([time, value]);
    else if (series.size < MOST_SERIES) series.set(label, [[time, value]]);
  }
}

export function seriesOf(variables, rows) {
  const found = drawable(variables, rows);
  if (found === null) return null;
  const series = new Map();
  for (const row of rows) put(series, found, row);
  // A series has its color by its place: rows of the same moment come in any order
  return found.name ? new Map([...series].sort(([one], [other]) => (one < other ? -1 : 1))) : series;
}
