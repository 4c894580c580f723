// Forced bindings of a JSAP: one term in the place of a variable, as triplewire.jsap does it; several.js has the rest.
//
//     SELECT ?v                  SELECT (term AS ?v)
//     GROUP BY ?v, ORDER BY ?v   GROUP BY (term)
//     BOUND(?v)                  (true)
//     AS ?v, VALUES ?v           refused: the text gives ?v its values
//     SELECT ?v in a subselect   refused here; the command line can do it

import { prefixesUsed, prefixesOf, tokens, word } from "./tokens.js";

const ENDS = { SELECT: ["WHERE", "FROM", "{"], GROUP: ["HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES", "}", "GROUP"] };
ENDS.ORDER = ENDS.GROUP;

// `values` is name -> SPARQL term.
export function bind(sparql, values) {
  const all = tokens(sparql);
  let text = "";
  let copied = 0;
  for (const { at, clause, depth, round } of places(all)) {
    const { text: written, start, end } = all[at];
    const term = values.get(written.slice(1));
    if (term === undefined) continue;
    const [first, last, replacement] = replaced(all, at, { clause, depth, round }, term);
    text += `${sparql.slice(copied, first ?? start)} ${replacement} `;
    copied = last ?? end;
  }
  return text + sparql.slice(copied);
}

// The declarations of the prefixes that a text uses and leaves to the profile.
export function prologue(sparql, namespaces) {
  const declared = prefixesOf(sparql);
  return [...prefixesUsed(sparql)]
    .filter(name => !declared.has(name) && Object.hasOwn(namespaces, name))
    .map(name => `PREFIX ${name}: ${iri(namespaces[name])} `).join("");
}

// Each variable with the clause that it stands in, and how deep.
function* places(all) {
  let clause = "";
  let depth = 0;
  let round = 0;
  for (let at = 0; at < all.length; at += 1) {
    const { kind, text } = all[at];
    const said = kind === "word" ? text.toUpperCase() : text;
    if (clause && round === 0 && ENDS[clause].includes(said)) clause = "";
    if (kind === "word" && Object.hasOwn(ENDS, said)) clause = said;
    if (text === "{") depth += 1;
    if (text === "}") depth -= 1;
    if (text === "(") round += 1;
    if (text === ")") round -= 1;
    if (kind === "variable") yield { at, clause, depth, round };
  }
}

function replaced(all, at, { clause, depth, round }, term) {
  const name = all[at].text;
  const before = word(all[at - 1]);
  if (before === "AS" || before === "VALUES") throw new Error(`${name} can't be forced: the text assigns it`);
  if (before === "(" && word(all[at - 2]) === "VALUES") throw new Error(`${name} can't be forced: the text assigns it`);
  if (before === "(" && word(all[at - 2]) === "BOUND") return [all[at - 2].start, all[at + 1].end, "(true)"];
  if (clause && round === 0) {
    if (clause !== "SELECT") return [null, null, `(${term})`];
    if (depth > 0) throw new Error(`${name} is a column of a subselect, where this page can't force it`);
    return [null, null, `(${term} AS ${name})`];
  }
  return [null, null, term];
}

// What was typed as one SPARQL term, whatever it is; throws where it is none of its type.
export function term(value, { type = "literal", datatype, language }, namespaces) {
  if (type === "uri") return iri(expanded(value, namespaces));
  if (type === "bnode") {
    if (!/^(_:)?[A-Za-z0-9_]+$/.test(value)) throw new Error(`${value} is no name of a blank node`);
    return `_:${value.replace(/^_:/, "")}`;
  }
  const quoted = `"${value.replace(/[\\"\n\r\t\b\f]/g, character => ESCAPES[character])}"`;
  if (language) {
    if (!/^[A-Za-z]+(-[A-Za-z0-9]+)*$/.test(language)) throw new Error(`${language} is no language`);
    return `${quoted}@${language}`;
  }
  return datatype ? `${quoted}^^${iri(expanded(datatype, namespaces))}` : quoted;
}

const ESCAPES = { "\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f" };

function expanded(name, namespaces) {
  const [prefix, ...rest] = name.split(":");
  if (rest.length && Object.hasOwn(namespaces, prefix)) return namespaces[prefix] + rest.join(":");
  if (prefix === "xsd" && rest.length) return `http://www.w3.org/2001/XMLSchema#${rest.join(":")}`;
  return name;
}

function iri(text) {
  if (!/^[A-Za-z][A-Za-z0-9+.\-]*:[^<>"{}|^`\\\x00-\x20]*$/.test(text)) throw new Error(`${text || "nothing"} is no IRI`);
  return `<${text}>`;
}
