"""Documents that LOAD names, fetched by us and not from inside Oxigraph: with a limit on size and time, no redirects."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import httpx
import pyoxigraph
from pyoxigraph import RdfFormat

from .errors import RequestError
from .wire.depth import check_depth
from .wire.media import GRAPHS, rdf_format

if TYPE_CHECKING:
    from pyoxigraph import Quad

    from .config import LimitsConfig

# A load holds up the updates behind it: half of this for each wait, and no wait begins after the other half.
_TIMEOUT_S = 10.0


def load_document(url: str, limits: LimitsConfig) -> list[Quad]:
    """The triples of a document on the Web, its blank nodes fresh; the host has been allowed before.

    Raises:
        RequestError: it can't be fetched or read, takes too long, is over limits.body_bytes, or is elsewhere by now.
    """
    try:
        content_type, data = _fetched(url, limits.body_bytes)
        format_ = _format(content_type, url)
        check_depth(data, format_, limits.nesting)
        return list(pyoxigraph.parse(data, format=format_, base_iri=url, rename_blank_nodes=True))
    except (httpx.HTTPError, httpx.InvalidURL, SyntaxError, ValueError) as error:
        raise RequestError(f"LOAD <{url:.200}> failed: {error!s:.300}", code="update_failed") from error


def _fetched(url: str, most: int) -> tuple[str | None, bytes]:
    accept = ", ".join(format_.media_type for format_ in GRAPHS)
    parts: list[bytes] = []
    size, deadline = 0, time.monotonic() + _TIMEOUT_S / 2
    with httpx.stream("GET", url, headers={"Accept": accept}, timeout=_TIMEOUT_S / 2) as response:
        if not response.is_success:
            raise RequestError(
                f"LOAD <{url:.200}> was answered by {response.status_code}", code="update_failed"
            )
        for chunk in response.iter_bytes():
            parts.append(chunk)
            size += len(chunk)
            if time.monotonic() > deadline:
                raise RequestError(f"LOAD <{url:.200}> takes too long", code="update_failed")
            if size > most:
                raise RequestError(
                    f"LOAD <{url:.200}> is over {most} bytes (limits.body_bytes)", code="update_failed"
                )
        return response.headers.get("content-type"), b"".join(parts)


def _format(content_type: str | None, url: str) -> RdfFormat:
    by_name = RdfFormat.from_extension(url.rpartition(".")[2].partition("?")[0])
    try:
        return rdf_format(content_type)
    except RequestError:
        if by_name is None:
            raise
        return by_name
