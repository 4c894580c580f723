"""The body of a request that starlette has: read within its bounds, with an error that says which one it is over."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect

from triplewire.broker.errors import DeadlineExceeded, RequestTooLarge, UnsupportedMediaType

from .request import ClientGone

if TYPE_CHECKING:
    from starlette.requests import Request


async def whole_body(request: Request, most_bytes: int, timeout_s: float, setting: str = "") -> bytes:
    """The whole body, held within limits.bodies_bytes; `setting` is where `most_bytes` comes from.

    Raises:
        RequestTooLarge: it is over `most_bytes`.
        DeadlineExceeded: it did not come within `timeout_s`.
        UnsupportedMediaType: it has a content coding.
        TooManyRequests: the bodies of all requests together are over limits.bodies_bytes.
        ClientDisconnect: the client has hung up.
    """
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMediaType("a content coding is not read here; send the body as it is")
    hold = request.scope.get("extensions", {}).get("triplewire.hold")
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(timeout_s):
            async for part in request.stream():
                size += len(part)
                if size > most_bytes:
                    named = f" ({setting})" if setting else ""
                    raise RequestTooLarge(f"the body is over {most_bytes} bytes{named}")
                if hold is not None:
                    hold(len(part))
                parts.append(part)
    except TimeoutError as error:
        raise DeadlineExceeded(
            f"the body did not arrive within {timeout_s} s (http.body_timeout_s)", code="request_timeout"
        ) from error
    except ClientGone as error:
        raise ClientDisconnect from error
    return b"".join(parts)
