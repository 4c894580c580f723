// Answers as files.

import { plain } from "./terms.js";

// SPARQL 1.1 Query Results CSV, 3.
export function csvOf(variables, rows) {
  const lines = [variables.map(field).join(",")];
  for (const row of rows) lines.push(variables.map(name => field(plain(row[name]))).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function field(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
