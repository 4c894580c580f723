// Several values for a variable of a query: the variable stays, and VALUES says what it may be, as triplewire.jsap does it.
//
//     WHERE { ... }          WHERE { VALUES ?v { term term } ... }
//     CONSTRUCT WHERE { }    VALUES stands behind it
//     VALUES ?x { ?v }       the terms themselves, and after DESCRIBE
//     in a subselect         refused here; the command line can do it

import { tokens, word } from "./tokens.js";

// `lists` is name -> SPARQL terms.
export function choose(sparql, lists) {
  if (lists.size === 0) return sparql;
  const all = tokens(sparql);
  const { uses, opening, form, short } = read(all);
  const changes = [];
  let block = "";
  for (const [name, terms] of lists) {
    const own = uses.filter(use => use.name === name);
    check(name, terms, own, form);
    const spelled = own.filter(use => use.data || (form === "DESCRIBE" && opening === null));
    for (const { at } of spelled) changes.push([all[at].start, all[at].end, terms.join(" ")]);
    if (spelled.length < own.length) block += ` VALUES ?${name} { ${terms.join(" ")} }`;
  }
  if (block && opening !== null) {
    if (word(all[opening + 1]) === "SELECT") throw new Error("this query is a subselect, into which this page can't put several values");
    const place = short ? all.at(-1).end : all[opening].end;
    changes.push([place, place, short ? block : `${block} `]);
  }
  return changed(sparql, changes);
}

function check(name, terms, uses, form) {
  if (terms.some(term => term.startsWith("_:"))) throw new Error(`${name}: a blank node can't be one of several values`);
  if (uses.some(use => use.assigned)) throw new Error(`?${name} can't be forced: the text assigns it`);
  if (uses.some(use => use.inner)) throw new Error(`?${name} stands in a subselect, where this page takes one value`);
  if (!form) throw new Error(`${name}: an update takes one value at a time`);
}

// Each use of a variable, and the brace that opens the WHERE group; `short` for CONSTRUCT without a template.
function read(all) {
  const found = { uses: [], opening: null, form: "", short: false };
  const inner = []; // the depths of the subselects that are open
  let depth = 0;
  let values = ""; // "names" after VALUES, "data" in its braces
  let template = false;
  all.forEach((token, at) => {
    const text = token.kind === "word" ? word(token) : token.text;
    if (token.kind === "variable") {
      found.uses.push({
        name: token.text.slice(1), at, inner: inner.length > 0, data: values === "data",
        assigned: values === "names" || word(all[at - 1]) === "AS",
      });
    } else if (token.kind === "word") {
      if (text === "SELECT" && depth > 0) inner.push(depth);
      else if (depth === 0 && FORMS.has(text)) found.form = text;
      if (text === "VALUES") values = "names";
    } else if (text === "{") {
      if (depth === 0 && values === "" && found.form === "CONSTRUCT" && word(all[at - 1]) === "CONSTRUCT") template = true;
      else if (depth === 0 && values === "") found.opening ??= at;
      if (values === "names") values = "data";
      depth += 1;
    } else if (text === "}") {
      depth -= 1;
      values = "";
      if (inner.at(-1) > depth) inner.pop();
    }
  });
  found.short = found.form === "CONSTRUCT" && !template;
  return found;
}

const FORMS = new Set(["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"]);

function changed(sparql, changes) {
  let text = "";
  let copied = 0;
  for (const [start, end, replacement] of changes.sort((one, other) => one[0] - other[0])) {
    text += sparql.slice(copied, start) + replacement;
    copied = end;
  }
  return text + sparql.slice(copied);
}
