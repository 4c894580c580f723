// What can stand where the cursor is: variables of the text, prefixes, keywords.

import { prefixesOf, variablesOf } from "./tokens.js";

const KEYWORDS = `ADD ALL ASC ASK AS BASE BIND BY CLEAR CONSTRUCT COPY CREATE DATA DEFAULT DELETE DESC DESCRIBE DISTINCT DROP
EXISTS FILTER FROM GRAPH GROUP HAVING IN INSERT INTO LIMIT LOAD MINUS MOVE NAMED NOT OFFSET OPTIONAL ORDER PREFIX REDUCED
SELECT SERVICE SILENT TO UNDEF UNION USING VALUES WHERE WITH`.split(/\s+/);
const FUNCTIONS = `ABS AVG BNODE BOUND CEIL COALESCE CONCAT CONTAINS COUNT DATATYPE DAY ENCODE_FOR_URI FLOOR GROUP_CONCAT HOURS
IF IRI isBLANK isIRI isLITERAL isNUMERIC LANG LANGMATCHES LCASE MAX MD5 MIN MINUTES MONTH NOW RAND REGEX REPLACE ROUND
SAMPLE SECONDS SHA1 SHA256 STR STRAFTER STRBEFORE STRDT STRENDS STRLANG STRLEN STRSTARTS STRUUID SUBSTR SUM TIMEZONE TZ
UCASE URI UUID YEAR`.split(/\s+/);
const KNOWN = {
  dct: "http://purl.org/dc/terms/", foaf: "http://xmlns.com/foaf/0.1/", geo: "http://www.opengis.net/ont/geosparql#",
  owl: "http://www.w3.org/2002/07/owl#", prov: "http://www.w3.org/ns/prov#",
  rdf: "http://www.w3.org/1999/02/22-rdf-syntax-ns#", rdfs: "http://www.w3.org/2000/01/rdf-schema#",
  schema: "http://schema.org/", sh: "http://www.w3.org/ns/shacl#", skos: "http://www.w3.org/2004/02/skos/core#",
  sosa: "http://www.w3.org/ns/sosa/", ssn: "http://www.w3.org/ns/ssn/", xsd: "http://www.w3.org/2001/XMLSchema#",
};

// A source of completions for CodeMirror.
export function completions(context) {
  const word = context.matchBefore(/[?$]?[\p{L}\p{N}_-]*/u);
  if (word === null || (word.from === word.to && !context.explicit)) return null;
  const text = context.state.doc.toString();
  const sign = word.text.match(/^[?$]/)?.[0];
  if (sign) {
    const names = variablesOf(text).filter(name => sign + name !== word.text);
    return { from: word.from, options: names.map(name => ({ label: sign + name, type: "variable" })) };
  }
  const before = context.state.sliceDoc(Math.max(0, word.from - 10), word.from);
  if (/PREFIX\s+$/i.test(before)) {
    return { from: word.from, options: Object.entries(KNOWN).map(([name, iri]) => ({ label: `${name}:`, detail: iri, apply: `${name}: <${iri}>` })) };
  }
  if (/[:<@]$/.test(before)) return null;
  return { from: word.from, options: [
    ...[...prefixesOf(text)].map(([name, iri]) => ({ label: `${name}:`, detail: iri, boost: 2 })),
    ...KEYWORDS.map(label => ({ label, type: "keyword", boost: 1 })),
    ...FUNCTIONS.map(label => ({ label, type: "function", apply: `${label}(` })),
  ] };
}
