// JSAP: an application's updates and queries as forms.  They are sent to the broker that the page is from, whatever the
// profile says of hosts.

import { ask, change } from "./broker.js";
import { button, counted, el, outcome } from "./dom.js";
import { Follower } from "./follower.js";
import { bind, prologue, term } from "./forced_bindings.js";
import { MOST_BYTES, profileOf } from "./jsap.js";
import { choose } from "./several.js";
import { Answer } from "./view_query.js";

const INPUTS = {
  integer: "number", int: "number", long: "number", decimal: "number", double: "number", float: "number",
};

export function jsapView() {
  const said = outcome("profile");
  const forms = el("div", { id: "forms" });
  const follower = new Follower("jsap", () => { stop.hidden = !follower.running; });
  const stop = button("Stop following", () => follower.stop(), { hidden: true });
  const answer = new Answer("Answer to the profile's query");
  const open = async file => {
    if (!file) return;
    try {
      if (file.size > MOST_BYTES) throw new Error(`${file.name} is larger than ${MOST_BYTES} bytes`);
      const profile = profileOf(await file.text());
      const entries = [...profile.updates, ...profile.queries];
      forms.replaceChildren(...entries.map(entry => form(entry, profile.namespaces, { answer, follower })));
      said.say(`${file.name}: ${counted(profile.updates.length, "update")}, ${profile.queries.length} ${profile.queries.length === 1 ? "query" : "queries"}`);
    } catch (error) {
      forms.replaceChildren();
      said.say(error.message, true);
    }
  };
  const input = el("input", { id: "jsap-file", type: "file", accept: ".jsap,.json,application/json", on: {
    change: () => open(input.files[0]),
  } });
  const drop = el("div", { class: "drop", on: {
    dragover: event => { event.preventDefault(); drop.classList.add("over"); },
    dragleave: () => drop.classList.remove("over"),
    drop: event => { event.preventDefault(); drop.classList.remove("over"); open(event.dataTransfer.files[0]); },
  } }, el("label", { for: "jsap-file" }, "Profile (.jsap): choose a file, or drop it here "), input);
  const element = el("div", {}, el("h2", {}, "JSAP"), drop, said.node, forms,
    el("div", { class: "tools" }, stop, follower.said.node), answer.element, follower.element);
  return { id: "jsap", title: "JSAP", element, shown: () => { answer.grid.refresh(); follower.grid.refresh(); } };
}

function form(entry, namespaces, places) {
  const said = outcome(`said-${entry.kind}-${entry.name}`);
  const fields = entry.forced.map(declared => field(entry, declared));
  const written = () => writtenBy(entry, namespaces, fields);
  const guarded = work => async event => {
    event?.preventDefault();
    try {
      said.say(await work(written()) ?? "");
    } catch (error) {
      said.say(error.message, true);
    }
  };
  const send = guarded(sparql => change(sparql, entry.graphs));
  const query = guarded(async sparql => {
    const size = places.answer.show(await ask(sparql, entry.graphs));
    places.answer.element.scrollIntoView({ block: "nearest" });
    return size;
  });
  const follow = guarded(sparql => {
    places.follower.start(sparql, entry.graphs);
    places.follower.element.scrollIntoView({ block: "nearest" });
  });
  const buttons = entry.kind === "update"
    ? [el("button", { class: "main" }, "Send")]
    : [el("button", { class: "main" }, "Ask"), button("Follow", follow)];
  const legend = `${entry.kind === "update" ? "Update" : "Query"} ${entry.name}`;
  return el("form", { class: "card", "aria-label": legend, on: { submit: entry.kind === "update" ? send : query } },
    el("h3", {}, legend), ...fields.map(each => each.element),
    el("details", {}, el("summary", {}, "SPARQL"), el("pre", { tabindex: 0 }, entry.sparql)),
    el("div", { class: "tools" }, ...buttons, said.node));
}

// One value of a variable, or for a query any number of them.
function field(entry, declared) {
  const id = `${entry.kind}-${entry.name}-${declared.variable}`;
  const inputs = [];
  const box = el("div", { class: "values" });
  const add = value => {
    const input = inputOf(declared, inputs.length ? { "aria-label": `${declared.variable}, another value` } : { id }, value);
    const line = inputs.length && el("div", { class: "value" }, input, button("\u2212", () => {
      inputs.splice(inputs.indexOf(input), 1);
      line.remove();
    }, { class: "quiet", "aria-label": `${declared.variable}: without this value` }));
    inputs.push(input);
    box.append(line || input);
    return input;
  };
  for (const value of declared.values) add(value);
  const more = entry.kind === "query" && button("+", () => add("").focus(), { class: "quiet", "aria-label": `${declared.variable}: another value` });
  const hint = [declared.type === "uri" ? "IRI" : declared.datatype ?? declared.type, declared.language].filter(Boolean).join(", ");
  const element = el("div", { class: "field" }, el("label", { for: id }, declared.variable), box,
    el("small", {}, hint, more && " ", more));
  return { declared, inputs, element };
}

function inputOf(declared, attributes, value) {
  const kind = INPUTS[declared.datatype?.split(/[:#]/).at(-1)] ?? "text";
  return el("input", {
    type: kind, step: kind === "number" ? "any" : null, value, required: declared.required, autocomplete: "off", ...attributes,
  });
}

function writtenBy(entry, namespaces, fields) {
  const single = new Map();
  const lists = new Map();
  for (const { declared, inputs } of fields) {
    const terms = inputs.map(({ value }) => {
      if (declared.required && value === "" && declared.type !== "literal") throw new Error(`${declared.variable} needs a value`);
      return term(value, declared, namespaces);
    });
    if (terms.length > 1) lists.set(declared.variable, terms);
    else single.set(declared.variable, terms[0]);
  }
  return prologue(entry.sparql, namespaces) + bind(choose(entry.sparql, lists), single);
}
