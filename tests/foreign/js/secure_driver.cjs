// Drives the secure client of @arces-wot/sepa-js.
"use strict";

const { client } = require("@arces-wot/sepa-js");
const { run, tell } = require("./driver.cjs");

const EVENTS = ["subscribed", "notification", "added", "removed", "unsubscribed", "error", "connection-error"];

let secure;
const subscriptions = new Map();

run({
  // Registering sets the port to 8443, whatever the configuration says: it is put right afterwards.
  register: async ({ identity, config }) => {
    secure = await client.secure.register(identity, config);
    secure.config.sparql11protocol.port = config.sparql11protocol.port;
    return secure.clientID;
  },
  open: ({ id, secret, config }) => {
    secure = client.secure.defaultClient(id, secret, config);
  },
  login: async () => {
    await secure.login();
    return secure.webToken.expires_in;
  },
  query: ({ sparql }) => secure.query(sparql),
  update: ({ sparql }) => secure.update(sparql),
  subscribe: ({ name, sparql, alias }) => {
    const subscription = secure.subscribe(sparql, undefined, alias);
    for (const event of EVENTS) {
      subscription.on(event, (value) => tell(name, event, event === "connection-error" ? String(value) : value));
    }
    subscriptions.set(name, subscription);
    return subscription.alias;
  },
  unsubscribe: ({ name }) => subscriptions.get(name).unsubscribe(),
});
