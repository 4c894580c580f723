// From values to places in a drawing, and the round values between.

export function scale([from, to], [start, end]) {
  const width = to - from || 1;
  return value => start + ((value - from) / width) * (end - start);
}

// A round size of which about `wanted` are in `width`.
function stepOf(width, wanted) {
  const rough = (width || 1) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map(factor => factor * power).find(size => size >= rough);
}

// The range, widened to round numbers.
export function rounded([from, to], wanted = 5) {
  const step = stepOf(to - from, wanted);
  if (from === to) return [from - 1, to + 1];
  return [Math.floor(from / step) * step, Math.ceil(to / step) * step].map(end => Number(end.toPrecision(12)));
}

// About `wanted` round numbers from `from` to `to`.
export function ticks(from, to, wanted = 5) {
  const step = stepOf(to - from || Math.abs(to), wanted);
  const found = [];
  for (let number = Math.ceil(from / step); number * step <= to + step / 1e6; number += 1) {
    found.push(Number((number * step).toPrecision(12)));
  }
  return found;
}

export const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 }).format;

// Powers of a thousand, by SI's names.
export function bytes(value) {
  const power = Math.max(0, Math.min(4, Math.floor(Math.log10(Math.abs(value) || 1) / 3)));
  return `${Number((value / 1000 ** power).toPrecision(3))} ${["B", "kB", "MB", "GB", "TB"][power]}`;
}
