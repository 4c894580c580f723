// A subscription over a WebSocket: SPARQL 1.1 Subscribe Language in SEPA's messages, and the broker's `resume` and `renew`.
//
// After a lost connection it comes back by itself, and is told what it missed.  A token goes with each message, as a
// browser can set no header of a WebSocket, and a URL is no place for it.

import { bearer, session } from "./session.js";
import { paths } from "./settings.js";

const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 15_000;
const LAPSED = "invalid_grant"; // what a subscription is told whose token has run out

export class Subscription {
  // `told` has notification(n), state(text, bad) and ended(text): after that nothing comes any more.
  constructor(sparql, told, graphs = {}) {
    this.sparql = sparql;
    this.graphs = graphs;
    this.told = told;
    this.wait = FIRST_WAIT_MS;
    this.seen = null;
    this.renew = () => (this.pending ? this.subscribe() : this.say({ renew: bearer() }));
    this.pending = true;
    session.addEventListener("change", this.renew);
    this.open();
  }

  open() {
    const url = new URL(paths.subscribe, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    this.socket = new WebSocket(url);
    this.socket.onopen = () => this.subscribe();
    this.socket.onmessage = event => this.hear(JSON.parse(event.data));
    this.socket.onclose = () => this.lost();
  }

  subscribe() {
    this.pending = true;
    this.say({ subscribe: { sparql: this.sparql, ...this.graphs, ...bearer(), resume: this.seen ?? {} } });
  }

  say(message) {
    if (message.renew && !message.renew.authorization) return;
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  hear({ notification, renewed, error, error_description: description, spuid }) {
    if (notification) {
      this.wait = FIRST_WAIT_MS;
      this.pending = false;
      this.seen = { spuid: notification.spuid, sequence: notification.sequence };
      this.told.state("following");
      this.told.notification(notification);
    } else if (renewed) {
      this.told.state("following");
    } else if (error && (error === LAPSED || (this.seen !== null && !spuid))) {
      this.told.state(description ?? error, true); // and the broker waits for another token
    } else if (error) {
      this.end(description ?? error); // nothing was subscribed, or the subscription has ended
    }
  }

  lost() {
    if (this.socket === null) return;
    this.told.state("connection lost, trying again", true);
    this.timer = setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(this.wait * 2, MOST_WAIT_MS);
  }

  end(why) {
    this.close();
    this.told.ended(why);
  }

  // Closed with 1000, the broker keeps nothing for a return.
  close() {
    clearTimeout(this.timer);
    session.removeEventListener("change", this.renew);
    const { socket } = this;
    this.socket = null;
    socket?.close(1000);
  }
}
