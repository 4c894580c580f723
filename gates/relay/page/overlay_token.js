// The token that a closed tracker wants: given once, kept in this page only.

import { button, el, outcome } from "./dom.js";
import { hasToken, logOut, session, take } from "./session.js";

export function tokenForm() {
  const said = outcome("token-state");
  const input = el("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const out = button("Forget it", logOut, { hidden: true });
  const element = el("form", { class: "card token", "aria-label": "Token", hidden: true, on: {
    submit: event => {
      event.preventDefault();
      const text = input.value.trim();
      input.value = "";
      if (/^[A-Za-z0-9._~+/-]+=*$/.test(text)) take(text);
      else said.say("this is no bearer token (RFC 6750, 2.1)", true);
    },
  } }, el("p", {}, "This tracker is closed: it wants a token of its broker, whose client may follow a stream. The token is kept in this page, until it is closed."),
  el("div", { class: "tools" }, el("label", { for: "token" }, "Token"), input, el("button", { class: "main" }, "Use it"), out, said.node));
  session.addEventListener("change", () => {
    out.hidden = !hasToken();
    said.say("");
  });
  return { element, offer: wanted => { element.hidden = !wanted; } };
}
