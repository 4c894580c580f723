"""What is written on the stream port: heads that leave at once, chunks, whole answers, errors in SEPA's form.

Nothing here waits or writes; it is bytes.  What `Connection` and `Consumer` write is made once and shared.
"""

from __future__ import annotations

import gzip
import time
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING

from triplewire.broker.errors import Overloaded, TooManyRequests
from triplewire.broker.model import Failure
from triplewire.broker.wire.subscribe import encode_failure, utf8
from triplewire.gates.http.response import JSON_TYPE, error_headers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triplewire.broker.errors import BrokerError

    from .forms import Form

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
# On all answers: pages of any origin may read them, and must not take them for scripts.
_ALWAYS = b"Access-Control-Allow-Origin: *\r\nX-Content-Type-Options: nosniff\r\n"
_EXPOSED = "Location, Retry-After, Content-Encoding, WWW-Authenticate"
_GZIP_LEVEL = 6


def chunk(data: bytes) -> bytes:
    """A chunk (RFC 9112, 7.1); never the last one."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def stream_head(form: Form, *, deflate: bool, framed: bool) -> bytes:
    """The head of a response that goes on and on: no cache may keep it, and no proxy hold it back."""
    return b"HTTP/1.1 200 OK\r\n" + _date() + _stream_fields(form.media_type, deflate, framed)


@lru_cache(maxsize=32)
def _stream_fields(media_type: str, deflate: bool, framed: bool) -> bytes:
    # HTTP/1.0 has no chunks: there the body ends with the connection (RFC 9112, 6.1)
    fields = ["Transfer-Encoding: chunked" if framed else "Connection: close", f"Content-Type: {media_type}"]
    if deflate:
        fields.append("Content-Encoding: deflate")
    fields += ["Cache-Control: no-store", "Vary: Accept, Accept-Encoding", "X-Accel-Buffering: no"]
    return "".join(f"{field}\r\n" for field in fields).encode() + _ALWAYS + b"\r\n"


def with_field(head: bytes, name: str, value: str) -> bytes:
    """A response's head with one more field."""
    return head.removesuffix(b"\r\n") + f"{name}: {value}\r\n\r\n".encode("latin-1", "replace")


def whole(  # noqa: PLR0913 - the parts of a response
    status: int,
    body: bytes = b"",
    content_type: str | None = None,
    headers: Iterable[tuple[str, str]] = (),
    *,
    keep_alive: bool = True,
    head_only: bool = False,
) -> bytes:
    """A response with its length; `head_only` answers a HEAD."""
    fields = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    if content_type is not None:
        fields.append(f"Content-Type: {content_type}")
    fields += [f"{name}: {value}" for name, value in headers]
    if not keep_alive:
        fields.append("Connection: close")
    fields.append(f"Content-Length: {len(body)}\r\n")
    head = "\r\n".join(fields).encode("latin-1", "replace")
    return b"".join([head, _date(), _ALWAYS, b"\r\n", b"" if head_only else body])


def failure(
    error: BrokerError, *, keep_alive: bool = True, head_only: bool = False, publishing: bool = False
) -> bytes:
    """SEPA's flat error object.

    Whatever means "not now" is a 503: after a 4xx, consumers never come back (facts 1.9).  Publishers do, and are told
    the truth about their quotas.

    To others a 5xx has no body: Ztreamy's consumers give any body to their reader of items, which understands nothing
    after it, when they are back (facts 1.9).
    """
    too_many = publishing and isinstance(error, TooManyRequests)
    status = 503 if isinstance(error, Overloaded) and not too_many else error.status
    headers = [*error_headers(error), ("Access-Control-Expose-Headers", _EXPOSED)]
    if status >= 500 and not publishing:
        return whole(status, headers=headers, keep_alive=keep_alive, head_only=head_only)
    body = utf8(encode_failure(Failure(error.code, status, error.description)))
    return whole(status, body, JSON_TYPE, headers, keep_alive=keep_alive, head_only=head_only)


def preflight(allow: tuple[str, ...], *, keep_alive: bool = True) -> bytes:
    """The answer to OPTIONS: what there is, and for a browser that any origin may."""
    headers = [
        ("Allow", ", ".join(allow)),
        ("Access-Control-Allow-Methods", ", ".join(allow)),
        ("Access-Control-Allow-Headers", "Authorization, Content-Type, Content-Encoding, Last-Event-ID"),
        ("Access-Control-Max-Age", "600"),
    ]
    return whole(200, headers=headers, keep_alive=keep_alive)


def gzipped(body: bytes) -> bytes:
    """For long polls, whose answers stand alone."""
    return gzip.compress(body, _GZIP_LEVEL, mtime=0)


def _date() -> bytes:
    return _date_at(int(time.time()))


@lru_cache(maxsize=1)
def _date_at(second: int) -> bytes:
    return f"Date: {formatdate(second, usegmt=True)}\r\n".encode()
