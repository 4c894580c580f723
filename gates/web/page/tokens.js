// SPARQL cut into tokens: enough to tell variables from what is in strings, comments and IRIs (SPARQL 1.1, 19.8).

const TOKEN = new RegExp([
  /(?<space>[ \t\r\n]+|#[^\r\n]*)/,
  /(?<iri><[^<>"{}|^`\\\x00-\x20]*>)/,
  /(?<string>"""(?:"{0,2}(?:[^"\\]|\\[^]))*"""|'''(?:'{0,2}(?:[^'\\]|\\[^]))*'''|"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*')/,
  /(?<variable>[?$][\p{L}\p{N}_\u00B7\u0300-\u036F\u203F-\u2040]+)/,
  /(?<pname>(?:_|\p{L}(?:[\p{L}\p{N}_.\-]*[\p{L}\p{N}_\-])?)?:(?:(?:[\p{L}\p{N}_:\-]|%[0-9A-Fa-f]{2}|\\.)(?:(?:[\p{L}\p{N}_:.\-]|%[0-9A-Fa-f]{2}|\\.)*(?:[\p{L}\p{N}_:\-]|%[0-9A-Fa-f]{2}|\\.))?)?)/,
  /(?<word>[A-Za-z_][A-Za-z0-9_]*)/,
  /(?<other>[^])/,
].map(part => part.source).join("|"), "uy");

// { kind, text, start, end } of all but space and comments.
export function tokens(sparql) {
  const found = [];
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < sparql.length;) {
    const start = TOKEN.lastIndex;
    const match = TOKEN.exec(sparql);
    const kind = Object.keys(match.groups).find(name => match.groups[name] !== undefined);
    if (kind !== "space") found.push({ kind, text: match[0], start, end: TOKEN.lastIndex });
  }
  return found;
}

// A token's text as keywords are compared.
export const word = token => token?.text.toUpperCase();

export const variablesOf = sparql => [...new Set(
  tokens(sparql).filter(token => token.kind === "variable").map(token => token.text.slice(1)),
)];

// The prefixes that are declared: name -> IRI.
export function prefixesOf(sparql) {
  const all = tokens(sparql);
  const found = new Map();
  all.forEach((token, at) => {
    const [name, iri] = [all[at + 1], all[at + 2]];
    if (token.kind === "word" && token.text.toUpperCase() === "PREFIX" && name?.kind === "pname" && iri?.kind === "iri") {
      found.set(name.text.slice(0, -1), iri.text.slice(1, -1));
    }
  });
  return found;
}

export const prefixesUsed = sparql => new Set(
  tokens(sparql).filter(({ kind, text }) => kind === "pname" && !text.startsWith("_:")).map(({ text }) => text.split(":")[0]),
);
