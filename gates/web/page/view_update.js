// Update: change the dataset.

import { change } from "./broker.js";
import { button, el, outcome } from "./dom.js";
import { editor } from "./editor.js";
import { clock } from "./moments.js";

const KEPT = 20;
const FIRST = `PREFIX ex: <http://example.org/>
INSERT DATA { ex:kitchen ex:temperature 21.5 }`;

export function updateView() {
  const said = outcome("updated");
  const sent = el("ol", { class: "log", "aria-label": "What was sent, the newest first", tabindex: 0 });
  const run = async () => {
    const sparql = text.text;
    try {
      const told = await change(sparql);
      said.say(told);
      sent.prepend(el("li", {}, `${clock(Date.now())} `, button("again", () => { text.text = sparql; },
        { class: "quiet", "aria-label": `Edit again: ${sparql.slice(0, 80)}` }), ` ${told}: `, el("code", {}, sparql.slice(0, 200))));
      while (sent.children.length > KEPT) sent.lastChild.remove();
    } catch (error) {
      said.say(error.message, true);
    }
  };
  const text = editor({ id: "update", label: "Update", text: FIRST, run });
  const element = el("div", {}, el("h2", {}, "Update"), text.element,
    el("div", { class: "tools" }, button("Send", run, { class: "main", title: "Ctrl-Enter" }), said.node), sent);
  return { id: "update", title: "Update", element };
}
