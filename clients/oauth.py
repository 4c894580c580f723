"""Registration and tokens (OAuth 2.0, client credentials) as flows without I/O, for any driver of `exchange.py`.

Two ways to ask for a token.  SEPA's: Basic, JSON headers, no body; answered by 201 with the token in a member `token`,
or flat.  That of RFC 6749, 4.4: a form; it is what other providers understand, whose addresses are discovered by their
issuer's URL (OpenID Connect Discovery 1.0; RFC 8414).
"""

from __future__ import annotations

import base64
import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, urlencode, urlsplit

from triplewire.broker.errors import BrokerMisbehaved, BrokerRefused, ConnectionLost

from .flows import BUSY, Call, Reply, Wait, refused, wait_s

if TYPE_CHECKING:
    from .flows import Flow
    from .settings import ClientSettings

_JSON = {"content-type": "application/json", "accept": "application/json"}
_FORM = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}


@dataclass(frozen=True, slots=True)
class Secret:
    """What a client proves itself with."""

    client_id: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Granted:
    """An access token as it was given, and its life in seconds; infinite where nothing is said of it."""

    token: str = field(repr=False)
    expires_in_s: float = math.inf


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a provider gives tokens, and takes them back."""

    token_url: str
    revoke_url: str | None = None


def register(url: str, identity: str, settings: ClientSettings) -> Flow[Secret]:
    """Register an identity (SE Protocol): most brokers do it once for each.

    Raises:
        BrokerRefused: the identity is not authorised, or registered already.
        BrokerMisbehaved: the answer holds no credentials.
    """
    said = {"register": {"client_identity": identity, "grant_types": ["client_credentials"]}}
    call = Call("POST", url, (), _JSON, json.dumps(said).encode())
    document = yield from _asked(call, settings, f"{identity!r} can't register at {url}")
    found = document.get("credentials", document)
    if isinstance(found, dict):
        client_id, secret = found.get("client_id"), found.get("client_secret")
        if isinstance(client_id, str) and isinstance(secret, str):
            return Secret(client_id, secret)
    raise BrokerMisbehaved(f"the answer to a registration at {url} holds no client_id and client_secret")


def token(url: str, secret: Secret, settings: ClientSettings) -> Flow[Granted]:
    """A token in SEPA's way; raises BrokerRefused, BrokerMisbehaved and ConnectionLost."""
    headers = {**_JSON, "authorization": _basic(secret.client_id, secret.secret)}
    document = yield from _asked(Call("POST", url, (), headers), settings, _refusal(url, secret))
    return _granted(document, url)


def token_by_form(
    url: str, secret: Secret, settings: ClientSettings, scope: str | None = None
) -> Flow[Granted]:
    """A token in the way of RFC 6749, 4.4.2; raises BrokerRefused, BrokerMisbehaved and ConnectionLost."""
    form = {"grant_type": "client_credentials", **({"scope": scope} if scope is not None else {})}
    document = yield from _asked(_form(url, secret, form), settings, _refusal(url, secret))
    return _granted(document, url)


def revoke(url: str, secret: Secret, given: str, settings: ClientSettings) -> Flow[None]:
    """Take a token back (RFC 7009, 2.1); raises BrokerRefused and ConnectionLost."""
    form = {"token": given, "token_type_hint": "access_token"}
    call = _form(url, secret, form)
    yield from _replied(call, settings, f"{url} does not revoke a token of {secret.client_id!r}")


def discover(issuer: str, settings: ClientSettings) -> Flow[Provider]:
    """Where a provider is, by its own metadata.

    Raises:
        BrokerRefused: there is no metadata below the issuer's URL.
        BrokerMisbehaved: it is another issuer's, or names no token endpoint.
    """
    try:
        document = yield from _metadata(_below(issuer, "openid-configuration"), settings)
    except BrokerRefused:
        document = yield from _metadata(_between(issuer, "oauth-authorization-server"), settings)
    if str(document.get("issuer", "")).rstrip("/") != issuer.rstrip("/"):
        raise BrokerMisbehaved(f"the metadata of {issuer} is another issuer's")  # RFC 8414, 3.3
    url, revocation = document.get("token_endpoint"), document.get("revocation_endpoint")
    if not isinstance(url, str) or urlsplit(url).scheme not in {"http", "https"}:
        raise BrokerMisbehaved(f"the metadata of {issuer} names no token_endpoint")
    return Provider(url, revocation if isinstance(revocation, str) else None)


def _below(issuer: str, name: str) -> str:
    return f"{issuer.rstrip('/')}/.well-known/{name}"  # OpenID Connect Discovery 1.0, 4


def _between(issuer: str, name: str) -> str:
    parts = urlsplit(issuer)
    return f"{parts.scheme}://{parts.netloc}/.well-known/{name}{parts.path.rstrip('/')}"  # RFC 8414, 3


def _metadata(url: str, settings: ClientSettings) -> Flow[dict[str, Any]]:
    call = Call("GET", url, (), {"accept": "application/json"}, safe=True)
    return (yield from _asked(call, settings, f"no metadata at {url}"))


def _form(url: str, secret: Secret, form: dict[str, str]) -> Call:
    # RFC 6749, 2.3.1: both parts are encoded as in a form before they are joined.
    basic = _basic(quote_plus(secret.client_id), quote_plus(secret.secret))
    return Call("POST", url, (), {**_FORM, "authorization": basic}, urlencode(form).encode())


def _basic(name: str, secret: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()


def _refusal(url: str, secret: Secret) -> str:
    return f"no token for {secret.client_id!r} from {url}"


def _granted(document: dict[str, Any], url: str) -> Granted:
    found = document.get("token")
    body = found if isinstance(found, dict) else document
    access_token, expires_in = body.get("access_token"), body.get("expires_in")
    if not isinstance(access_token, str) or not access_token.isascii() or not access_token.isprintable():
        raise BrokerMisbehaved(f"the answer of {url} holds no access_token")
    try:
        life_s = math.inf if expires_in is None else float(expires_in)
    except (TypeError, ValueError) as error:
        raise BrokerMisbehaved(f"the answer of {url} has an expires_in that is no number") from error
    return Granted(access_token, life_s if life_s == life_s else math.inf)  # noqa: PLR0124 - NaN


def _asked(call: Call, settings: ClientSettings, problem: str) -> Flow[dict[str, Any]]:
    reply = yield from _replied(call, settings, problem)
    try:
        document = json.loads(reply.body)
    except (ValueError, RecursionError) as error:
        # Without its cause: an error of json holds the whole text, and a token may be in it.
        raise BrokerMisbehaved(f"the answer of {call.url} is not JSON: {type(error).__name__}") from None
    if not isinstance(document, dict):
        raise BrokerMisbehaved(f"the answer of {call.url} is not a JSON object")
    return document


def _replied(call: Call, settings: ClientSettings, problem: str) -> Flow[Reply]:
    """The successful reply; where nobody is there, or has time, it is asked for again after a while."""
    repeats = 0
    while True:
        try:
            reply: Reply = yield call
        except ConnectionLost:
            if repeats >= settings.retries:
                raise
            yield Wait(min(0.5 * 2**repeats, settings.retry_after_max_s))
        else:
            if reply.status not in BUSY or repeats >= settings.retries:
                break
            yield Wait(wait_s(reply, repeats, settings))
        repeats += 1
    if not 200 <= reply.status < 300:
        told = refused(reply)
        raise BrokerRefused(told.code, told.status, f"{problem}: {told.description}")
    return reply
