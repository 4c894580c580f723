// Drives @arces-wot/sepa-js.
"use strict";

const { SEPA, client, Jsap } = require("@arces-wot/sepa-js");
const { run, tell } = require("./driver.cjs");

const EVENTS = ["subscribed", "notification", "added", "removed", "unsubscribed", "error", "connection-error"];

let sepa;
let profile;
const subscriptions = new Map();

function hold(name, subscription) {
  for (const event of EVENTS) {
    subscription.on(event, (value) => tell(name, event, event === "connection-error" ? String(value) : value));
  }
  subscriptions.set(name, subscription);
  return subscription.alias;
}

run({
  open: ({ jsap }) => {
    sepa = new SEPA({ ...client.config, ...jsap });
  },
  // The ready-made client, whose configuration is its own: each call says where to.
  query_at: ({ sparql, config }) => client.query(sparql, config),
  update_at: ({ sparql, config }) => client.update(sparql, config),
  subscribe_at: ({ name, sparql, alias, config }) => hold(name, client.subscribe(sparql, config, alias)),

  query: ({ sparql }) => sepa.query(sparql),
  update: ({ sparql }) => sepa.update(sparql),
  subscribe: ({ name, sparql, alias }) => hold(name, sepa.subscribe(sparql, undefined, alias)),
  unsubscribe: ({ name }) => subscriptions.get(name).unsubscribe(),
  kill: ({ name }) => subscriptions.get(name).kill(),

  profile: ({ jsap }) => {
    profile = new Jsap(jsap);
    return { producers: Object.keys(profile.Producers), consumers: Object.keys(profile.Consumers) };
  },
  produce: ({ id, bindings }) => profile.Producers[id](bindings),
  consume: ({ name, id, bindings }) => hold(name, profile.Consumers[id](bindings)),
  call: ({ id, bindings }) => profile[id](bindings),
  ask: ({ id, bindings }) => profile[id].query(bindings),
});
