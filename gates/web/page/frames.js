// Work that is done once a frame, however often it is asked for; in a hidden tab, which has no frames, twice a second.

const HIDDEN_MS = 500;

export class Batch {
  // `work` gets all that was pushed since the last time.
  constructor(work) {
    this.work = work;
    this.items = [];
    this.cancel = null;
    document.addEventListener("visibilitychange", () => this.again());
  }

  push(item) {
    this.items.push(item);
    this.cancel ??= this.plan();
  }

  plan() {
    if (document.hidden) {
      const timer = setTimeout(() => this.run(), HIDDEN_MS);
      return () => clearTimeout(timer);
    }
    const frame = requestAnimationFrame(() => this.run());
    return () => cancelAnimationFrame(frame);
  }

  again() {
    if (this.cancel === null) return;
    this.cancel();
    this.cancel = this.plan();
  }

  run() {
    const items = this.items;
    this.items = [];
    this.cancel = null;
    this.work(items);
  }

  clear() {
    this.cancel?.();
    this.cancel = null;
    this.items = [];
  }
}

// `work`, at most every `pause` milliseconds, and once more at the end.
export function throttled(work, pause) {
  let timer = null;
  let last = -Infinity;
  return () => {
    timer ??= setTimeout(() => {
      timer = null;
      last = performance.now();
      work();
    }, Math.max(0, last + pause - performance.now()));
  };
}
