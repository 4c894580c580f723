// RDF terms as SPARQL's JSON results have them: as text, as numbers, as moments.

const XSD = "http://www.w3.org/2001/XMLSchema#";
const NUMBERS = new Set([
  "integer", "decimal", "double", "float", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger",
  "nonPositiveInteger", "negativeInteger", "unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte",
].map(name => XSD + name));
const MOMENTS = new Set([`${XSD}dateTime`, `${XSD}date`, `${XSD}dateTimeStamp`]);

// As people read it: numbers and moments without their datatype.
export function shown(term) {
  if (!term) return "";
  if (term.type === "uri") return `<${term.value}>`;
  if (term.type === "bnode") return `_:${term.value}`;
  if (term.type === "triple") {
    const { subject, predicate, object } = term.value;
    return `<<( ${shown(subject)} ${shown(predicate)} ${shown(object)} )>>`;
  }
  if (NUMBERS.has(term.datatype) || MOMENTS.has(term.datatype)) return term.value;
  const end = term["xml:lang"] ? `@${term["xml:lang"]}` : term.datatype ? `^^<${term.datatype}>` : "";
  return JSON.stringify(term.value) + end;
}

const isNumber = term => term !== undefined && NUMBERS.has(term.datatype);

// As SPARQL's CSV has it (SPARQL 1.1 Query Results CSV, 3.2): values without their kind.
export function plain(term) {
  if (!term) return "";
  if (term.type === "bnode") return `_:${term.value}`;
  return term.type === "triple" ? shown(term) : term.value;
}

// The number, or null.
export function numberOf(term) {
  if (!isNumber(term)) return null;
  const number = Number(term.value);
  return Number.isFinite(number) ? number : null;
}

// Milliseconds since 1970, or null; without a zone it is the reader's own.
export function momentOf(term) {
  if (!term || !MOMENTS.has(term.datatype)) return null;
  const moment = Date.parse(term.value);
  return Number.isNaN(moment) ? null : moment;
}

// The same text for the same term, and for the same row.
export const keyOf = (row, variables) => JSON.stringify(variables.map(name => canonical(row[name])));

function canonical(term) {
  if (!term) return null;
  if (term.type === "triple") return [canonical(term.value.subject), canonical(term.value.predicate), canonical(term.value.object)];
  return [term.type, term.value, term.datatype ?? "", term["xml:lang"] ?? "", term["its:dir"] ?? ""];
}
