// Login, where the broker is closed.  The secret is sent to it once and forgotten; the token stays in this page.

import { announce } from "./announce.js";
import { button, el, outcome } from "./dom.js";
import { hasToken, leftSeconds, logIn, logOut, session, take } from "./session.js";

export function loginView() {
  const said = outcome("login-state");
  const identity = field("identity", "Client identity", "text");
  const secret = field("secret", "Secret", "password");
  const token = field("token", "Token", "password");
  const attempt = work => async event => {
    event.preventDefault();
    try {
      await work();
    } catch (error) {
      said.say(error.message, true);
    } finally {
      secret.input.value = token.input.value = "";
    }
  };
  const credentials = el("form", { class: "card", "aria-label": "With credentials", on: {
    submit: attempt(() => logIn(identity.input.value.trim(), secret.input.value)),
  } }, el("h3", {}, "With credentials"), identity.element, secret.element, el("button", { class: "main" }, "Log in"));
  const given = el("form", { class: "card", "aria-label": "With a token", on: {
    submit: attempt(async () => {
      const text = token.input.value.trim();
      if (!/^[A-Za-z0-9._~+/-]+=*$/.test(text)) throw new Error("this is no bearer token (RFC 6750, 2.1)");
      take(text);
    }),
  } }, el("h3", {}, "With a token"), token.element, el("button", { class: "main" }, "Use it"));
  const out = button("Log out", logOut, { hidden: true });
  session.addEventListener("change", () => {
    out.hidden = !hasToken();
    const left = leftSeconds();
    if (hasToken()) said.say(`Logged in${left === null ? "" : `, for ${Math.ceil(left / 60)} minutes`}.`);
  });
  const over = words => () => { said.say(words); announce(words); };
  session.addEventListener("logout", over("Logged out."));
  session.addEventListener("lapse", over("The token has run out: log in again."));
  const element = el("div", {}, el("h2", {}, "Login"),
    el("p", { class: "muted" }, "The token is kept in this page, until it is closed or the token has run out; the secret is not kept."),
    el("div", { class: "cardrow" }, credentials, given), el("div", { class: "tools" }, out, said.node));
  return { id: "login", title: "Login", element };
}

function field(id, label, type) {
  const input = el("input", { id, type, autocomplete: "off", spellcheck: "false", required: true });
  return { input, element: el("div", { class: "field" }, el("label", { for: id }, label), input) };
}
