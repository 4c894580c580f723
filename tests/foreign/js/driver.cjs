// JSON lines in, JSON lines out (see foreigner.py): runs the verbs of a driver until its input ends.
"use strict";

const readline = require("node:readline");

function say(document) {
  process.stdout.write(JSON.stringify(document) + "\n");
}

function raised(error) {
  const status = error && error.response ? ` ${JSON.stringify(error.response.data)}` : "";
  return { raised: (error && error.name) || typeof error, message: String((error && error.message) || error) + status };
}

exports.tell = (of, event, value) => say({ of, event, value });

exports.run = (verbs) => {
  const lines = readline.createInterface({ input: process.stdin });
  lines.on("line", async (line) => {
    const order = JSON.parse(line);
    try {
      say({ n: order.n, value: await verbs[order.do](order.with) });
    } catch (error) {
      say({ n: order.n, ...raised(error) });
    }
  });
  lines.on("close", () => process.exit(0));
};
