// What screen readers are told of changes that nobody asked for; at most one a second, the latest.

const PAUSE_MS = 1000;
let waiting = null;
let last = 0;

export function announce(text) {
  const due = waiting !== null;
  waiting = text;
  if (due) return;
  setTimeout(() => {
    document.getElementById("live").textContent = waiting;
    waiting = null;
    last = performance.now();
  }, Math.max(0, last + PAUSE_MS - performance.now()));
}
