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

export const bytes = new Intl.NumberFormat("en", {
  notation: "compact", style: "unit", unit: "byte", unitDisplay: "narrow", maximumSignificantDigits: 3,
}).format;

// A moment as short as the span that it is in allows.
export function clock(moment, span) {
  const text = new Date(moment).toISOString();
  if (span > 300 * 86_400_000) return text.slice(0, 7);
  if (span > 2 * 86_400_000) return text.slice(0, 10);
  if (span > 120_000) return text.slice(11, 16);
  return span > 8000 ? text.slice(11, 19) : text.slice(11, 21);
}
