// Streams: which there are, looked at every five seconds while this is seen, and the items of one as they come.

import { announce } from "./announce.js";
import { getJson } from "./broker.js";
import { chart } from "./chart.js";
import { button, el, outcome } from "./dom.js";
import { EventStream } from "./event_stream.js";
import { Batch, throttled } from "./frames.js";
import { Grid } from "./grid.js";
import { session } from "./session.js";
import { paths } from "./settings.js";

const KEPT = 1000; // items on the page
const SECONDS = 60;
const EVERY_MS = 5000;
const COLUMNS = ["when", "source", "syntax", "item"];

export function streamsView() {
  const said = outcome("stream-state");
  const listed = new Listed(stream => follow(stream));
  const items = new Items();
  let stream = null;
  const stop = (why = "stopped", bad = false) => {
    stream?.close();
    stream = null;
    end.hidden = true;
    said.say(why, bad);
  };
  const end = button("Stop", () => stop(), { hidden: true });
  session.addEventListener("logout", () => stream && stop());
  const follow = ({ url, title }) => {
    stop();
    items.begin(title);
    end.hidden = false;
    said.say(`connecting to ${title} \u2026`);
    stream = new EventStream(url, {
      event: data => items.batch.push(data),
      state: (text, bad) => said.say(text === "following" ? `following ${title}` : text, bad),
      ended: why => stop(why, true),
    });
  };
  let timer = null;
  let turn = 0; // of being seen
  const wait = () => { timer = setTimeout(() => (document.hidden ? wait() : load()), EVERY_MS); };
  // Who is refused once does not ask again by itself.
  const load = async () => {
    clearTimeout(timer);
    const own = turn;
    try {
      const found = (await getJson(paths.streams, "application/ld+json"))["dcat:dataset"].map(streamOf);
      listed.show(found);
      if (found.length === 0) said.say("there are no streams that you may follow");
      if (own === turn) wait();
    } catch (error) {
      said.say(error.message, true);
    }
  };
  const element = el("div", {}, el("h2", {}, "Streams"), listed.element,
    el("div", { class: "tools" }, button("Look again", load), end, said.node), items.element);
  return {
    id: "streams", title: "Streams", element,
    shown: () => { turn += 1; load(); items.grid.refresh(); },
    hidden: () => { turn += 1; clearTimeout(timer); },
  };
}

// The directory as a table; a row stays the same element, so that a button keeps its focus.
class Listed {
  constructor(follow) {
    this.follow = follow;
    this.rows = new Map();
    this.body = el("tbody");
    const names = ["stream", "what it is", "items a second", "kept", "newest", "sources", "follow"];
    this.element = el("div", { class: "wide" }, el("table", { "aria-label": "Streams", class: "plain level" },
      el("thead", {}, el("tr", {}, ...names.map(name => el("th", { scope: "col" }, name)))), this.body));
  }

  show(streams) {
    const there = new Set(streams.map(stream => stream.url));
    for (const [url, row] of this.rows) {
      if (!there.has(url)) {
        row.remove();
        this.rows.delete(url);
      }
    }
    for (const stream of streams) {
      if (!this.rows.has(stream.url)) this.add(stream);
      const cells = this.rows.get(stream.url).children;
      [stream.title, stream.kind, stream.rate, stream.kept, stream.newest, stream.sources].forEach((value, at) => {
        if (cells[at].textContent !== String(value)) cells[at].textContent = String(value);
      });
    }
  }

  add(stream) {
    const choose = button("Follow", () => this.follow(stream), { "aria-label": `Follow ${stream.title}` });
    const overlay = stream.overlay && el("a",
      { href: stream.overlay, target: "_blank", rel: "noopener noreferrer", "aria-label": `Overlay of ${stream.title}` }, "overlay");
    const row = el("tr", {}, ...Array.from({ length: 6 }, () => el("td")), el("td", {}, choose, overlay && " ", overlay));
    this.rows.set(stream.url, row);
    this.body.append(row);
  }
}

class Items {
  constructor() {
    this.rate = el("output", { id: "stream-rate" });
    this.plot = el("div");
    this.grid = new Grid("Items", { cells: item => item.cells, state: item => item.state });
    this.grid.columns(COLUMNS);
    this.batch = new Batch(all => this.take(all));
    this.draw = throttled(() => this.tell(), 1000);
    this.element = el("div", { hidden: true }, this.rate, this.plot, this.grid.element);
  }

  begin(title) {
    this.batch.clear();
    this.title = title;
    this.kept = [];
    this.seconds = new Map();
    this.begun = Math.floor(Date.now() / 1000);
    this.element.hidden = false;
    this.grid.show(0, () => null);
    this.tell();
  }

  take(all) {
    const second = Math.floor(Date.now() / 1000);
    this.seconds.set(second, (this.seconds.get(second) ?? 0) + all.length);
    for (const old of this.seconds.keys()) if (old < second - SECONDS) this.seconds.delete(old);
    for (const item of this.kept.slice(-50)) item.state = "";
    this.kept.push(...all.slice(-KEPT).map(itemOf));
    if (this.kept.length > KEPT) this.kept.splice(0, this.kept.length - KEPT);
    this.grid.show(this.kept.length, number => this.kept[this.kept.length - 1 - number]);
    announce(`${all.length} items from ${this.title}`);
    this.draw();
  }

  tell() {
    const now = Math.floor(Date.now() / 1000);
    const first = Math.max(this.begun, now - SECONDS);
    const points = Array.from({ length: now - first }, (_, at) => [(first + at) * 1000, this.seconds.get(first + at) ?? 0]);
    const recent = points.slice(-10).reduce((sum, [, count]) => sum + count, 0) / 10;
    this.rate.textContent = `${this.title}: ${recent} items a second over the last ten seconds`;
    this.plot.replaceChildren(chart(new Map([["items a second", points]]), "Items a second", { zero: true }));
    if (this.seconds.size) this.draw();
  }
}

function itemOf(data) {
  try {
    const item = JSON.parse(data);
    const body = typeof item.Body === "string" ? item.Body : JSON.stringify(item.Body ?? "");
    return { state: "added", cells: [item.Timestamp ?? "", item["Source-Id"] ?? "", item.Syntax ?? "", body.slice(0, 2000)] };
  } catch {
    return { state: "added", cells: ["", "", "", data.slice(0, 2000)] };
  }
}

function streamOf(dataset) {
  const events = dataset["dcat:distribution"].find(way => way["dcat:mediaType"] === "text/event-stream");
  return {
    url: events["dcat:accessURL"], title: dataset["dct:title"], kind: dataset["dct:type"], rate: dataset["tw:itemsPerSecond"],
    kept: dataset["tw:itemsKept"], newest: dataset["dct:temporal"]?.["dcat:endDate"] ?? "",
    sources: dataset["sosa:madeBySensor"].length + dataset["tw:sensorsNotListed"],
    overlay: dataset["tw:tracker"]?.map(tracker => tracker["@id"]).find(url => /^https?:/i.test(url)),
  };
}
