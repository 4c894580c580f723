"""What a request to the authorization server says: its body within bounds, JSON or form, the client's credentials."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

from triplewire.broker.errors import RequestError, Unauthorized
from triplewire.broker.wire.media import essence
from triplewire.gates.http.bodies import whole_body
from triplewire.gates.http.request import FORM, Parameters

if TYPE_CHECKING:
    from fastapi import Request

BODY_BYTES = 64 * 1024
_CHALLENGE = 'Basic realm="triplewire", charset="UTF-8"'


async def body_of(request: Request, timeout_s: float) -> bytes:
    """The whole body, of at most BODY_BYTES.  Raises as `whole_body` does."""
    return await whole_body(request, BODY_BYTES, timeout_s)


def is_form(request: Request) -> bool:
    """Whether the body is a form, as RFC 6749 has it; else it is JSON, as SEPA has it.

    Raises:
        RequestError: it is neither.  Where nothing is said of it, or the answer may be of any kind, that is no error.
    """
    accept = request.headers.get("accept", "*/*").lower()
    if not any(range_ in accept for range_ in ("json", "*/*", "application/*")) and accept.strip():
        raise RequestError("the answer is application/json, which Accept does not name", code="accept_error")
    media_type = essence(request.headers.get("content-type"))
    if media_type == FORM:
        return True
    if media_type and media_type != "text/json" and not media_type.endswith(("/json", "+json")):
        raise RequestError(
            f"the body must be application/json or {FORM}, not {media_type:.100}", code="content_type_error"
        )
    return False


def json_of(body: bytes) -> Any:
    """A JSON document, also one that was encoded twice, as SEPA's JavaScript client does.

    Raises:
        RequestError: it is not one, or nested too deep; invalid_client_metadata.
    """
    found = _json_of(body)
    return _json_of(found.encode("utf-8", "surrogatepass")) if isinstance(found, str) else found


def _json_of(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8-sig"))
    except (
        ValueError,
        RecursionError,
    ) as error:  # Python's reader itself goes some hundred levels deep, no more
        raise RequestError(
            "the body is not JSON, or nested too deep", code="invalid_client_metadata"
        ) from error


def form_of(body: bytes) -> Parameters:
    """The fields of a form.

    Raises:
        RequestError: it is not one; invalid_request (RFC 6749, 5.2).
    """
    try:
        return Parameters.parse(body, "the form")
    except RequestError as error:
        raise RequestError(error.description, code="invalid_request") from error


def field_of(form: Parameters, name: str) -> str | None:
    """A field that may be there once; without a value it is as if it were not there (RFC 6749, 3.2).

    Raises:
        RequestError: it is there more than once; invalid_request.
    """
    try:
        return form.one(name) or None
    except RequestError as error:
        raise RequestError(error.description, code="invalid_request") from error


def has_basic(request: Request) -> bool:
    """Whether the client shows its secret in the Authorization header."""
    return request.headers.get("authorization", "").split(" ", 1)[0].lower() == "basic"


def basic_of(request: Request) -> list[tuple[str, str]]:
    """The client_id and secret of the Authorization header, in each way that they can be read.

    As SEPA's clients write them, with the last colon between the two; then percent-encoded, as RFC 6749, 2.3.1 has it.

    Raises:
        Unauthorized: they are not there, unauthorized_client; not base64, invalid_request; in one, invalid_client.
    """
    if not has_basic(request):
        raise _refused(
            "the Authorization header must be Basic, of client_id:client_secret", "unauthorized_client"
        )
    encoded = request.headers["authorization"][len("basic") :].strip()
    try:
        text = base64.b64decode(encoded, validate=True).decode("utf-8")
    except (binascii.Error, ValueError) as error:
        raise _refused("the credentials are not UTF-8 in base64", "invalid_request") from error
    client_id, colon, secret = text.rpartition(":")
    if not colon:
        raise _refused("the credentials have no colon between client_id and secret", "invalid_client")
    readings = [(client_id, secret)]
    if "%" in text or "+" in text:
        readings.append((unquote_plus(client_id), unquote_plus(secret)))
    return readings


def wrong_client() -> Unauthorized:
    """What RFC 6749 has for a client that is not known or shows a wrong secret: the same for both."""
    return _refused("the client or its secret is wrong", "invalid_client")


def _refused(description: str, code: str) -> Unauthorized:
    return Unauthorized(description, code=code, challenge=_CHALLENGE)
