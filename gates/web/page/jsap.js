// A JSON SPARQL Application Profile, read: its updates and queries, each with what has to be given.

const GRAPHS = {
  update: { "using-graph-uri": "using-graph-uri", "using-named-graph-uri": "using-named-graph-uri" },
  query: { "default-graph-uri": "default-graph-uri", "named-graph-uri": "named-graph-uri" },
};
export const MOST_BYTES = 4 * 1024 * 1024;

// { namespaces, updates, queries }; an entry is { kind, name, sparql, forced, graphs }.  Throws what is wrong, and where.
export function profileOf(text) {
  let document;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw new Error(`this is not JSON: ${error.message}`);
  }
  if (!isObject(document)) throw new Error("a profile is a JSON object");
  const namespaces = part(document, "namespaces", "");
  const entries = kind => Object.entries(part(document, `${kind === "update" ? "updates" : "queries"}`, ""))
    .map(([name, entry]) => entryOf(kind, name, entry, document));
  const profile = { namespaces, updates: entries("update"), queries: entries("query") };
  if (!profile.updates.length && !profile.queries.length) throw new Error("this profile has no updates and no queries");
  return profile;
}

function entryOf(kind, name, entry, document) {
  const path = `${kind === "update" ? "updates" : "queries"}.${name}`;
  if (!isObject(entry) || typeof entry.sparql !== "string") throw new Error(`${path}.sparql must be a text`);
  const forced = Object.entries(part(entry, "forcedBindings", path)).map(([variable, declared]) => {
    if (!isObject(declared)) throw new Error(`${path}.forcedBindings.${variable} must be an object`);
    return {
      variable, type: declared.type ?? "literal", datatype: declared.datatype, language: declared.language,
      values: Array.isArray(declared.value) && declared.value.length ? declared.value.map(textOf) : [textOf(declared.value)],
      required: declared.value == null || (declared.value === "" && declared.type !== "literal"),
    };
  });
  return { kind, name, sparql: entry.sparql, forced, graphs: graphsOf(kind, entry, document) };
}

// An entry's own graphs, or those of the profile (SPARQL 1.1 Protocol, 2.1.4 and 2.2.3).
function graphsOf(kind, entry, document) {
  const found = {};
  for (const [member, parameter] of Object.entries(GRAPHS[kind])) {
    const given = part(entry, "graphs", entry.name)[member] ?? part(document, "graphs", "")[member];
    if (given !== undefined && given !== null) found[parameter] = [given].flat().map(String);
  }
  return found;
}

function part(holder, name, path) {
  const found = holder[name] ?? {};
  if (!isObject(found)) throw new Error(`${path ? `${path}.` : ""}${name} must be an object`);
  return found;
}

const textOf = value => String((isObject(value) ? value.value : value) ?? "");
const isObject = value => typeof value === "object" && value !== null && !Array.isArray(value);
