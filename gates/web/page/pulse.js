// The line at the top: whether the broker is there and well, and whether it wants a token.

import { counted } from "./dom.js";
import { authorization, hasToken, session } from "./session.js";
import { paths } from "./settings.js";

const EVERY_MS = 5000;

export async function pulse(node, told) {
  const say = (text, bad) => {
    if (node.textContent !== text) node.textContent = text;
    node.classList.toggle("bad", bad);
  };
  try {
    const found = await (await fetch(paths.health, { headers: authorization() })).json();
    const open = "updates" in found;
    say(found.status + (open ? `: ${counted(found.subscriptions, "subscription")}, ${counted(found.updates, "update")}` : ""), found.status !== "ok");
    told(open && !hasToken() ? "open" : "closed");
  } catch {
    say("not reachable", true);
  }
}

export function beat(node, told) {
  const again = () => pulse(node, told);
  session.addEventListener("change", again);
  setInterval(() => { if (!document.hidden) again(); }, EVERY_MS);
  again();
}
