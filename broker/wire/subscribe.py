"""The messages of the SPARQL 1.1 Secure Event Protocol, both ways: JSON texts on a WebSocket.

::

    client   {"subscribe":{"sparql":..,"alias"?,"default-graph-uri"?,"named-graph-uri"?,"authorization"?,"resume"?}}
             {"unsubscribe":{"spuid":..,"authorization"?}}
             {"renew":{"authorization":..,"alias"?}}
    broker   {"notification":{"spuid","alias"?,"sequence","addedResults","removedResults"}}
             {"unsubscribed":{"spuid"}}
             {"renewed":{"expires_in","alias"?}}
             {"error","status_code","error_description","alias"?,"spuid"?}

Real clients send more: an alias of null, graphs as one string, a token beside `subscribe` (sepy), kilobytes of foreign
members (sepa-js).  What is not known is not looked at.  The codes of the errors are those of SEPA's engine.

`resume` is ours: `{}` says that the client can resume the subscription after a lost connection, and
`{"spuid":..,"sequence":n}` that it is back and saw the notification n last.  The answer is the notification n + 1 with
all that it missed, or, where that can't be had, first results as ever.

`renew` is ours, too: another token for all subscriptions that the same client has on this connection.  `expires_in` is
in whole seconds, as in RFC 6749, 5.1.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from json.encoder import encode_basestring as quoted
from typing import Any, TypeAlias

from triplewire.broker.errors import BrokerRefused, ProtocolError, QueryTooComplex
from triplewire.broker.model import Failure, Notification, Query, Resume, Unsubscribed

from .depth import json_of
from .results import decode_delta, encode_delta

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class SubscribeMessage:
    """A client's subscribe; `authorization` is the token in either of its places, without `Bearer`."""

    query: Query
    alias: str | None = None
    authorization: str | None = field(default=None, repr=False)
    resumable: bool = False
    resume: Resume | None = None


@dataclass(frozen=True, slots=True)
class UnsubscribeMessage:
    """A client's unsubscribe."""

    spuid: str
    alias: str | None = None
    authorization: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RenewMessage:
    """A client's new token, before or after its last one ran out."""

    authorization: str | None = field(repr=False)
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Renewed:
    """The answer to a renew: how many seconds the token is good for; None where it does not expire."""

    expires_in: int | None
    alias: str | None = None


ClientMessage: TypeAlias = SubscribeMessage | UnsubscribeMessage | RenewMessage
BrokerMessage: TypeAlias = Notification | Unsubscribed | Failure | Renewed


class MessageError(ProtocolError):
    """A client's text that is no message; `code` is SEPA's, `alias` names the request where it could be read."""

    def __init__(self, code: str, description: str, alias: str | None = None) -> None:
        super().__init__(description)
        self.code = code
        self.alias = alias


def decode_client(text: str) -> ClientMessage:
    """What a client said.

    Raises:
        MessageError: it is not JSON, has neither member, or a member is of the wrong kind.
    """
    document = _document(text)
    if "subscribe" in document:
        return _subscribe(document)
    if "unsubscribe" in document:
        return _unsubscribe(document)
    if "renew" in document:
        return _renew(document)
    raise MessageError(
        "unsupported",
        f"a message must have the member subscribe or unsubscribe; it has {sorted(document)!s:.200}",
        _alias(document),
    )


def _document(text: str) -> dict[str, Any]:
    try:
        document = json_of(text)
    except QueryTooComplex as error:
        raise MessageError("JsonParseException", error.description) from error
    except ValueError as error:
        raise MessageError("JsonParseException", f"the message is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise MessageError("JsonParseException", "a message must be a JSON object")
    return document


def _subscribe(document: dict[str, Any]) -> SubscribeMessage:
    body = document["subscribe"]
    alias = _alias(body, document)
    if not isinstance(body, dict):
        raise MessageError("Exception", "subscribe must be an object with the member sparql", alias)
    sparql = body.get("sparql")
    if not isinstance(sparql, str):
        raise MessageError("Exception", "sparql member not found: subscribe.sparql must be a string", alias)
    query = Query(sparql, _graphs(body, "default-graph-uri", alias), _graphs(body, "named-graph-uri", alias))
    resume = body.get("resume")
    return SubscribeMessage(query, alias, _token(document, body), isinstance(resume, dict), _resume(resume))


def _resume(found: Any) -> Resume | None:
    """What the client held; anything that is not understood is a client that begins."""
    if not isinstance(found, dict):
        return None
    spuid, sequence = found.get("spuid"), found.get("sequence")
    if not isinstance(spuid, str) or not isinstance(sequence, int) or isinstance(sequence, bool):
        return None
    return Resume(spuid, sequence)


def _unsubscribe(document: dict[str, Any]) -> UnsubscribeMessage:
    body = document["unsubscribe"]
    alias = _alias(body, document)
    if not isinstance(body, dict) or not isinstance(body.get("spuid"), str):
        raise MessageError("Exception", "spuid member not found: unsubscribe.spuid must be a string", alias)
    return UnsubscribeMessage(body["spuid"], alias, _token(document, body))


def _renew(document: dict[str, Any]) -> RenewMessage:
    body = document["renew"]
    alias = _alias(body, document)
    if not isinstance(body, dict):
        raise MessageError("Exception", "renew must be an object with the member authorization", alias)
    return RenewMessage(_token(document, body), alias)


def _alias(*places: Any) -> str | None:
    found = (place.get("alias") for place in places if isinstance(place, dict))
    return next((alias for alias in found if isinstance(alias, str)), None)


def _graphs(body: dict[str, Any], member: str, alias: str | None) -> tuple[str, ...]:
    """Absent, null, one string (sepy), or an array of strings."""
    found = body.get(member)
    if not found:
        return ()
    if isinstance(found, str):
        return (found,)
    if isinstance(found, list) and all(isinstance(graph, str) for graph in found):
        return tuple(found)
    raise MessageError("Exception", f"subscribe.{member} must be an IRI or an array of IRIs", alias)


def _token(document: dict[str, Any], body: dict[str, Any]) -> str | None:
    found = body.get("authorization") or document.get("authorization")
    if not isinstance(found, str):
        return None
    scheme, _, token = found.partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token else found


def encode_broker(message: BrokerMessage) -> str:
    """The text that tells a client `message`."""
    return broker_bytes(message).decode()


def broker_bytes(message: BrokerMessage) -> bytes:
    """The same in UTF-8: of a notification only what is the subscriber's own is made, the rows are encoded once."""
    if isinstance(message, Notification):
        alias = "" if message.alias is None else f',"alias":{quoted(message.alias)}'
        own = f'{{"notification":{{"spuid":{quoted(message.spuid)}{alias},"sequence":{message.sequence},'
        return b"%b%b}}" % (utf8(own), encode_delta(message.delta))
    if isinstance(message, Unsubscribed):
        return utf8(f'{{"unsubscribed":{{"spuid":{quoted(message.spuid)}}}}}')
    if isinstance(message, Renewed):
        alias = "" if message.alias is None else f',"alias":{quoted(message.alias)}'
        expires = "null" if message.expires_in is None else message.expires_in
        return utf8(f'{{"renewed":{{"expires_in":{expires}{alias}}}}}')
    return utf8(encode_failure(message))


def utf8(text: str) -> bytes:
    """The bytes of a JSON text; half a surrogate pair (a client's alias may be one) stays the escape it came as."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def encode_failure(failure: Failure) -> str:
    """SEPA's flat error object, the same on HTTP and WebSocket."""
    document: dict[str, Any] = {
        "error": failure.code,
        "status_code": failure.status,
        "error_description": failure.description,
    }
    if failure.alias is not None:
        document["alias"] = failure.alias
    if failure.spuid is not None:
        document["spuid"] = failure.spuid
    return json.dumps(document, ensure_ascii=False)


def encode_client(message: ClientMessage) -> str:
    """The text by which a client says `message`."""
    if isinstance(message, UnsubscribeMessage):
        body: dict[str, Any] = {"spuid": message.spuid}
        return json.dumps({"unsubscribe": body | _said(message)}, ensure_ascii=False)
    if isinstance(message, RenewMessage):
        return json.dumps({"renew": _said(message)}, ensure_ascii=False)
    body = {"sparql": message.query.sparql}
    if message.resume is not None:
        body["resume"] = {"spuid": message.resume.spuid, "sequence": message.resume.sequence}
    elif message.resumable:
        body["resume"] = {}
    if message.query.default_graphs:
        body["default-graph-uri"] = list(message.query.default_graphs)
    if message.query.named_graphs:
        body["named-graph-uri"] = list(message.query.named_graphs)
    return json.dumps({"subscribe": body | _said(message)}, ensure_ascii=False)


def _said(message: ClientMessage) -> dict[str, str]:
    said: dict[str, str] = {}
    if message.alias is not None:
        said["alias"] = message.alias
    if message.authorization is not None:
        said["authorization"] = f"Bearer {message.authorization}"
    return said


def decode_broker(text: str | bytes) -> BrokerMessage:
    """What a broker said.

    Raises:
        ProtocolError: it is none of the four messages.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"the broker's message is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise ProtocolError("the broker's message must be a JSON object")
    if "error" in document:
        return decode_failure(document)
    try:
        if "notification" in document:
            return _notification(document["notification"])
        if "unsubscribed" in document:
            return Unsubscribed(str(document["unsubscribed"]["spuid"]))
        if "renewed" in document:
            return _renewed(document["renewed"])
    except ProtocolError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ProtocolError(f"the broker's message lacks a member: {text!r:.100}") from error
    raise ProtocolError(f"the broker's message is not known: {text!r:.100}")


def _notification(body: dict[str, Any]) -> Notification:
    return Notification(str(body["spuid"]), _alias(body), int(body["sequence"]), decode_delta(body))


def _renewed(body: dict[str, Any]) -> Renewed:
    expires = body["expires_in"]
    return Renewed(None if expires is None else int(expires), _alias(body))


def decode_failure(document: dict[str, Any]) -> Failure:
    """SEPA's flat error object; a member that is missing is filled in rather than refused."""
    status = document.get("status_code")
    return Failure(
        str(document.get("error")),
        status if isinstance(status, int) else 500,
        str(document.get("error_description", "")),
        _alias(document),
        document.get("spuid") if isinstance(document.get("spuid"), str) else None,
    )


def refusal(failure: Failure) -> BrokerRefused:
    """The exception that our clients raise for it."""
    return BrokerRefused(failure.code, failure.status, failure.description)
