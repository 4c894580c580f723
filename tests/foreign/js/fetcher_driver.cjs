// Drives fetch-sparql-endpoint, which many JavaScript applications ask an endpoint with.
"use strict";

const { SparqlEndpointFetcher } = require("fetch-sparql-endpoint");
const { run } = require("./driver.cjs");

const fetcher = new SparqlEndpointFetcher();
const posting = new SparqlEndpointFetcher({ method: "POST" });

async function all(stream) {
  const items = [];
  return new Promise((resolve, reject) => {
    stream.on("data", (item) => items.push(item));
    stream.on("error", reject);
    stream.on("end", () => resolve(items));
  });
}

run({
  select: async ({ sparql, endpoint, post }) => {
    const rows = await all(await (post ? posting : fetcher).fetchBindings(endpoint, sparql));
    return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value.value])));
  },
  ask: ({ sparql, endpoint }) => fetcher.fetchAsk(endpoint, sparql),
  construct: async ({ sparql, endpoint }) => {
    const quads = await all(await fetcher.fetchTriples(endpoint, sparql));
    return quads.map((quad) => [quad.subject.value, quad.predicate.value, quad.object.value]);
  },
  update: ({ sparql, endpoint }) => fetcher.fetchUpdate(endpoint, sparql),
});
