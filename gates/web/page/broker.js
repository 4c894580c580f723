// Requests to the broker; what it says is wrong comes as an Error with its words.

import { authorization } from "./session.js";
import { paths } from "./settings.js";

const MOST_BYTES = 64 * 1024 * 1024; // of an answer: a browser tab is no place for more
const RESULTS = "application/sparql-results+json, text/turtle;q=0.5";

// The answer to a query: { results } for SELECT and ASK, { text } for triples.
// The broker ends a query whose client hangs up, as by `signal`.
export async function ask(sparql, parameters = {}, signal = undefined) {
  const { text, type } = await post(paths.query, "application/sparql-query", sparql, RESULTS, parameters, signal);
  return type.includes("json") ? { results: JSON.parse(text), text } : { text };
}

// What the broker says of an update.
export async function change(sparql, parameters = {}) {
  const { text } = await post(paths.update, "application/sparql-update", sparql, "application/json", parameters);
  return JSON.parse(text).response.body;
}

// How the broker would follow a query, in words.
export async function explain(sparql) {
  return JSON.parse((await post(paths.explain, "application/sparql-query", sparql, "application/json", {})).text);
}

export async function getJson(path, accept = "application/json") {
  return JSON.parse((await get(path, accept)).text);
}

export async function get(path, accept) {
  return read(await fetch(path, { headers: { ...authorization(), Accept: accept } }));
}

async function post(path, type, body, accept, parameters, signal = undefined) {
  const pairs = Object.entries(parameters).flatMap(([name, values]) => values.map(value => [name, value]));
  const url = pairs.length ? `${path}?${new URLSearchParams(pairs)}` : path;
  const headers = { ...authorization(), "Content-Type": type, Accept: accept };
  return read(await fetch(url, { method: "POST", headers, body, signal }));
}

async function read(answer) {
  const text = await bounded(answer);
  if (!answer.ok) throw Object.assign(new Error(reason(text, answer.status)), { status: answer.status });
  return { text, type: answer.headers.get("Content-Type") ?? "" };
}

async function bounded(answer) {
  const parts = [];
  let size = 0;
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = reader ? await reader.read() : { done: true };
    if (done) return parts.join("");
    size += value.length;
    if (size > MOST_BYTES) {
      await reader.cancel();
      throw new Error(`the answer is larger than ${MOST_BYTES / 1024 / 1024} MB: ask with LIMIT, or by the command line`);
    }
    parts.push(value);
  }
}

export function reason(text, status) {
  try {
    return JSON.parse(text).error_description ?? text;
  } catch {
    return text || `the broker answers ${status}`;
  }
}
