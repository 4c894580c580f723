"""Where a stream is read and written, worked out from the one URL that a user gives."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

FOLLOWED = ("stream", "compressed", "priority")
_TRACKED = re.compile(rf"/consume/[^/]+/(?:{'|'.join(FOLLOWED)})\Z")
_KNOWN = {*FOLLOWED, "long-polling", "publish", "publish-cont"}


def followed_url(url: str, access: str = "compressed") -> str:
    """The URL to read at: the one given where it ends in one of FOLLOWED, else `access` of that stream.

    Raises:
        ValueError: it is not an http or https URL of a stream.
    """
    return _with(url, access, FOLLOWED)


def published_url(url: str, access: str = "publish") -> str:
    """The URL to send items to; any of a stream's URLs may be given.

    Raises:
        ValueError: it is not an http or https URL of a stream.
    """
    return _with(url, access, ())


def is_at_tracker(url: str) -> bool:
    """Whether it is where a tracker sends consumers to a relay: /consume/NAME/compressed, below whatever prefix."""
    return _TRACKED.search(urlsplit(url).path) is not None


def _with(url: str, access: str, kept: tuple[str, ...]) -> str:
    parts = urlsplit(url)
    stream, _, last = parts.path.rstrip("/").rpartition("/")
    if parts.scheme not in {"http", "https"} or not parts.hostname or not last:
        raise ValueError(f"a stream's URL is like http://localhost:8001/events; {url!r} is not")
    # A stream may itself be called `stream`: a single segment is always a name.
    if stream and last in kept:
        return url
    path = stream if stream and last in _KNOWN else f"{stream}/{last}"
    return urlunsplit((parts.scheme, parts.netloc, f"{path}/{access}", parts.query, ""))
