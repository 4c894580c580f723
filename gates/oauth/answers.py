"""The authorization server's answers: JSON that no cache keeps, errors in SEPA's flat form, which is RFC 6749's as well."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from fastapi import Request, Response
from starlette.requests import ClientDisconnect

from triplewire.broker.errors import BrokerError, EngineError
from triplewire.broker.model import Failure
from triplewire.broker.wire.subscribe import encode_failure
from triplewire.gates.http.response import JSON_TYPE, error_headers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .grants import Grant

log = logging.getLogger("triplewire.gates.oauth")

NO_STORE = "no-store"  # RFC 6749, 5.1


def answer(document: dict[str, Any], status: int = 200, cache: str = NO_STORE) -> Response:
    """A JSON document; `cache` is the value of Cache-Control."""
    headers = {"Content-Type": JSON_TYPE, "Cache-Control": cache}
    # Not ensure_ascii: what came with half a surrogate pair goes as an escape
    body = json.dumps(document, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(body, status, headers)


def token_answer(grant: Grant, status: int) -> Response:
    """A token in both shapes: flat as RFC 6749, 5.1 has it, and wrapped, as SEPA's clients read it."""
    flat = {
        "access_token": grant.issued.token,
        "token_type": "bearer",
        "expires_in": grant.expires_in,
        "scope": " ".join(sorted(scope.value for scope in grant.issued.scopes)),
    }
    return answer({**flat, "token": flat}, status)


def refusal(error: BrokerError) -> Response:
    """An error, with what its status asks for in the headers."""
    headers = {"Content-Type": JSON_TYPE, "Cache-Control": NO_STORE, **dict(error_headers(error))}
    body = encode_failure(Failure(error.code, error.status, error.description))
    return Response(body.encode("utf-8", "backslashreplace"), error.status, headers)


def refused(log: logging.Logger, request: Request, error: BrokerError) -> Response:
    """The same, and it is logged, not what was sent: an error of ours with its traceback."""
    if isinstance(error, EngineError):
        log.error("! %s %s", request.method, request.url.path, exc_info=error)
    else:
        log.info(
            "%s %s %d %s: %.200s",
            request.method,
            request.url.path,
            error.status,
            error.code,
            error.description,
        )
    return refusal(error)


def answering(serve: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """What a path does, with its errors as answers.  Neither secrets nor tokens are logged: not what was sent."""

    async def endpoint(request: Request) -> Response:
        try:
            return await serve(request)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except BrokerError as error:
            return refused(log, request, error)
        except Exception:
            log.exception("! %s %s", request.method, request.url.path)
            return refusal(EngineError("internal error"))

    return endpoint
