// Subscribe: the answer to a query, kept current.

import { button, el } from "./dom.js";
import { editor } from "./editor.js";
import { Follower } from "./follower.js";

export function subscribeView() {
  const follower = new Follower("followed", () => { toggle.textContent = follower.running ? "Stop" : "Follow"; });
  const run = () => (follower.running ? follower.stop() : follower.start(text.text));
  const toggle = button("Follow", run, { class: "main", title: "Ctrl-Enter" });
  const text = editor({
    id: "watch", label: "Subscribe", text: "SELECT * WHERE { ?room <http://example.org/temperature> ?value }", run,
  });
  const element = el("div", {}, el("h2", {}, "Subscribe"), text.element,
    el("div", { class: "tools" }, toggle, follower.said.node), follower.element);
  return { id: "subscribe", title: "Subscribe", element, shown: () => follower.grid.refresh() };
}
