// Who the page is to the broker.  A token is in this variable, for as long as the page is open, and nowhere else.

import { paths } from "./settings.js";

let token = null;
let ends = null;
let timer = null;

// "change" when there is another token, or none any more; before it "lapse" where it has run out, and "logout" where it was
// given up: then nothing may go on by it, though the broker would let it.
export const session = new EventTarget();

export const hasToken = () => token !== null;
export const authorization = () => (token === null ? {} : { Authorization: `Bearer ${token}` });
export const bearer = () => (token === null ? {} : { authorization: `Bearer ${token}` });
export const leftSeconds = () => (ends === null ? null : Math.max(0, Math.round((ends - Date.now()) / 1000)));

// RFC 6749, 4.4: client credentials.  Nothing of the secret is kept.
export async function logIn(identity, secret) {
  const answer = await fetch(paths.token, {
    method: "POST",
    credentials: "omit", // else the browser asks for a password itself when the broker refuses this one
    headers: {
      Authorization: `Basic ${base64(`${encodeURIComponent(identity)}:${encodeURIComponent(secret)}`)}`,
      "Content-Type": "application/x-www-form-urlencoded",
    },
    body: "grant_type=client_credentials",
  });
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(told.error_description ?? `the broker answers ${answer.status}`);
  take(told.access_token, told.expires_in);
}

export function take(text, lifetime = null) {
  clearTimeout(timer);
  token = text;
  ends = lifetime === null ? null : Date.now() + lifetime * 1000;
  if (lifetime !== null) timer = setTimeout(lapse, Math.min(lifetime * 1000, 2 ** 31 - 1));
  session.dispatchEvent(new Event("change"));
}

export const logOut = () => forget("logout");
const lapse = () => forget("lapse");

function forget(why) {
  clearTimeout(timer);
  token = ends = null;
  session.dispatchEvent(new Event(why));
  session.dispatchEvent(new Event("change"));
}

function base64(text) {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
