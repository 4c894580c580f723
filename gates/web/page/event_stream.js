// Server-sent events read by fetch: an EventSource can't send a token.  Comes back by itself, with the last id it saw.

import { reason } from "./broker.js";
import { authorization } from "./session.js";

const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 15_000;
const MOST_CHARACTERS = 16 * 1024 * 1024; // of one event

export class EventStream {
  // `told` has event(data), state(text, bad) and ended(text).
  constructor(url, told) {
    this.url = url;
    this.told = told;
    this.leaving = new AbortController();
    this.last = null;
    this.run();
  }

  close() {
    this.leaving.abort();
  }

  async run() {
    let wait = FIRST_WAIT_MS;
    while (!this.leaving.signal.aborted) {
      try {
        await this.once(() => { wait = FIRST_WAIT_MS; });
      } catch (error) {
        if (this.leaving.signal.aborted) return;
        if (error.final) {
          this.told.ended(error.message);
          return;
        }
      }
      if (this.leaving.signal.aborted) return;
      this.told.state("connection lost, trying again", true);
      await new Promise(resolve => { setTimeout(resolve, wait); });
      wait = Math.min(wait * 2, MOST_WAIT_MS);
    }
  }

  async once(began) {
    const headers = { ...authorization(), Accept: "text/event-stream" };
    if (this.last !== null) headers["Last-Event-ID"] = this.last;
    const answer = await fetch(this.url, { headers, signal: this.leaving.signal });
    if (!answer.ok) {
      const error = new Error(reason(await answer.text(), answer.status));
      throw Object.assign(error, { final: answer.status < 500 });
    }
    began();
    this.told.state("following");
    let waiting = "";
    for (const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();;) {
      const { value, done } = await reader.read();
      if (done) return;
      const events = (waiting + value).split(/\r?\n\r?\n/);
      waiting = events.pop();
      if (waiting.length > MOST_CHARACTERS) throw Object.assign(new Error("an event is too large for a page"), { final: true });
      for (const event of events) this.take(event);
    }
  }

  // WHATWG HTML, 9.2.6
  take(event) {
    const fields = event.split(/\r?\n/).map(line => /^([^:]*):? ?(.*)$/s.exec(line));
    const of = name => fields.filter(field => field[1] === name).map(field => field[2]);
    this.last = of("id").at(-1) ?? this.last;
    const data = of("data").join("\n");
    if (of("event").at(-1) === "error") throw Object.assign(new Error(reason(data, 0)), { final: true });
    if (data) this.told.event(data);
  }
}
