// Drives Comunica with SPARQL endpoints as its sources.
"use strict";

const { QueryEngine } = require("@comunica/query-sparql");
const { run } = require("./driver.cjs");

const engine = new QueryEngine();

function term(value) {
  const kept = { termType: value.termType, value: value.value };
  if (value.termType === "Literal") {
    kept.datatype = value.datatype.value;
    kept.language = value.language;
  }
  return kept;
}

run({
  select: async ({ sparql, sources }) => {
    const rows = await (await engine.queryBindings(sparql, { sources })).toArray();
    return rows.map((row) => Object.fromEntries([...row].map(([variable, value]) => [variable.value, term(value)])));
  },
  ask: ({ sparql, sources }) => engine.queryBoolean(sparql, { sources }),
  construct: async ({ sparql, sources }) => {
    const quads = await (await engine.queryQuads(sparql, { sources })).toArray();
    return quads.map((quad) => [term(quad.subject), term(quad.predicate), term(quad.object)]);
  },
  update: async ({ sparql, endpoint }) => {
    await engine.queryVoid(sparql, { sources: [endpoint], destination: endpoint });
  },
});
