"""What streams there are: a page for people, and for machines a DCAT catalogue in JSON-LD with terms of SSN/SOSA.

W3C DCAT 3, 6 for datasets and distributions; W3C SSN, 4 for what observes.  What can be seen of a stream, its rate and
its sources, is that of the items it keeps: the sources of the newest of them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from triplewire.broker.rights import Access

    from .feed import Feed

PATH = "/streams"
LD_JSON = "application/ld+json"
_SOURCES = 100  # are told of each stream
_LOOKED_AT = 2048  # items, for their sources
_RECENT_S = 60.0
_KEPT_S = 1.0  # what was found out about a stream is good for so long
_CONTEXT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
    "ssn-system": "http://www.w3.org/ns/ssn/systems/",
    "tw": "urn:triplewire:",
    "dcat:accessURL": {"@type": "@id"},
}
_ITEMS = "application/ztreamy-stream"
_WAYS = (
    ("stream", _ITEMS, "items as they come"),
    ("compressed", _ITEMS, "the same, always compressed"),
    ("stream", "application/x-ldjson", "a JSON object a line"),
    ("stream", "text/event-stream", "events, for browsers"),
    ("long-polling", _ITEMS, "what came since last-seen, or else the next"),
    ("priority", _ITEMS, "without a window, for relays"),
)
_SOCKET_WAYS = (
    ("stream", "application/x-ldjson", "text messages, each some JSON objects, one a line, over WebSocket"),
    ("stream", _ITEMS, "items in binary messages, over WebSocket by the subprotocol ztreamy-stream"),
)
_STYLE = "body{font:1rem/1.5 system-ui;margin:2rem auto;max-width:60rem;padding:0 1rem}table{border-collapse:collapse}td,th{text-align:left;padding:.2rem 1rem .2rem 0}"
# The page needs its style, and nothing else.
_POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-"
    f"{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'"
)


class Directory:
    """Of the streams `feeds`, whichever there are when it is asked."""

    def __init__(
        self,
        feeds: Mapping[str, Feed],
        clock: Callable[[], float] = time.time,
        trackers: Sequence[str] = (),
    ) -> None:
        """`trackers` are the URLs of those that arrange the streams with `overlay`."""
        self._feeds = feeds
        self._clock = clock
        self._trackers = trackers
        self._known: dict[str, tuple[float, dict[str, Any]]] = {}

    def page(self, base: str, accept: str, access: Access) -> tuple[bytes, str]:
        """The directory and its media type; of the streams that `access` may follow.

        `base` is where the stream port is, as `http://localhost:8001`.
        """
        base = base.rstrip("/")
        told = [
            self._told(self._feeds[name]) for name in sorted(self._feeds) if access.rights.may_follow(name)
        ]
        if _wants_html(accept):
            return _html(base, told).encode(), "text/html; charset=utf-8"
        document = {
            "@context": _CONTEXT,
            "@id": f"{base}{PATH}",
            "@type": "dcat:Catalog",
            "dct:title": "Streams",
            "dcat:dataset": [_dataset(base, each) | self._overlay(each["name"]) for each in told],
        }
        return json.dumps(document, ensure_ascii=False, indent=1).encode("utf-8", "replace"), LD_JSON

    def _overlay(self, name: str) -> dict[str, Any]:
        """Where the stream's overlay is shown, if it has one."""
        if not (self._trackers and self._feeds[name].config.overlay):
            return {}
        return {
            "tw:tracker": [{"@id": f"{url.rstrip('/')}/#{quote(name, safe='')}"} for url in self._trackers]
        }

    def _told(self, feed: Feed) -> dict[str, Any]:
        now = self._clock()
        known = self._known.get(feed.name)
        if known is None or not now - _KEPT_S < known[0] <= now:
            known = self._known[feed.name] = (now, _observed(feed, now))
            for gone in self._known.keys() - self._feeds.keys():
                del self._known[gone]
        return known[1]


def _observed(feed: Feed, now: float) -> dict[str, Any]:
    history = feed.history
    entries = history.newest(_LOOKED_AT)
    oldest = next(iter(history), None)
    sources = dict.fromkeys(entry.item.source_id for entry in reversed(entries) if entry.item.source_id)
    return {
        "name": feed.name,
        "title": feed.config.title or feed.name,
        "kind": feed.config.kind,
        "source_id": feed.source_id,
        "of": feed.config.of,
        "rate": round(history.count_since(now - _RECENT_S) / _RECENT_S, 3),
        "sources": [*_first(sources, _SOURCES)],
        "more_sources": max(0, len(sources) - _SOURCES),
        "kept": len(history),
        "since": oldest.taken_at if oldest is not None else None,
        "newest": entries[-1].taken_at if entries else None,
        "window_s": (feed.config.window_s, feed.config.window_most_s),
    }


def _first(names: Iterable[str], most: int) -> Iterable[str]:
    return (name for name, _ in zip(names, range(most), strict=False))


def _dataset(base: str, told: dict[str, Any]) -> dict[str, Any]:
    place = f"{base}/{quote(told['name'])}"
    dataset: dict[str, Any] = {
        "@id": place,
        "@type": ["dcat:Dataset", "sosa:ObservationCollection"],
        "dct:identifier": told["source_id"],
        "dct:title": told["title"],
        "dct:type": told["kind"],
        "dct:source": [{"@id": f"{base}/{quote(other)}"} for other in told["of"]],
        "tw:itemsPerSecond": told["rate"],
        "tw:itemsKept": told["kept"],
        "tw:window": {"tw:leastSeconds": told["window_s"][0], "tw:mostSeconds": told["window_s"][1]},
        "sosa:madeBySensor": [
            {"@type": "sosa:Sensor", "dct:identifier": source} for source in told["sources"]
        ],
        "tw:sensorsNotListed": told["more_sources"],
        "dcat:distribution": [
            *(_distribution(place, *way) for way in _WAYS),
            # ws: for http:, and wss: for https:
            *(_distribution(f"ws{place.removeprefix('http')}", *way) for way in _SOCKET_WAYS),
        ],
    }
    if told["newest"] is not None:
        dataset["dct:temporal"] = {
            "@type": "dct:PeriodOfTime",
            "dcat:startDate": _time(told["since"]),
            "dcat:endDate": _time(told["newest"]),
        }
    if told["kind"] == "publish":
        dataset["tw:publish"] = {"@id": f"{place}/publish"}
    return dataset


def _distribution(place: str, access: str, media_type: str, title: str) -> dict[str, Any]:
    return {
        "@type": "dcat:Distribution",
        "dct:title": title,
        "dcat:accessURL": f"{place}/{access}",
        "dcat:mediaType": media_type,
    }


def _time(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def _wants_html(accept: str) -> bool:
    """Browsers name text/html first; machines name their own type, or none."""
    html, machine = accept.find("text/html"), accept.find("json")
    return html >= 0 and (machine < 0 or html < machine)


def _html(base: str, told: list[dict[str, Any]]) -> str:
    rows = "".join(_row(base, each) for each in told)
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        f'<meta http-equiv=Content-Security-Policy content="{_POLICY}">'
        f"<title>Streams</title><style>{_STYLE}</style>"
        "<h1>Streams</h1><table><tr><th>stream<th>what it is<th>items a second<th>kept<th>newest<th>sources</tr>"
        f"{rows}</table><p>Follow one by <code>curl -N {escape(base)}/NAME/stream</code>.</html>"
    )


def _row(base: str, told: dict[str, Any]) -> str:
    sources = ", ".join(escape(source) for source in told["sources"][:5])
    more = len(told["sources"]) - 5 + told["more_sources"]
    newest = "" if told["newest"] is None else _time(told["newest"])
    link = f"{escape(base)}/{quote(told['name'])}/long-polling?past-events-limit=25&amp;non-blocking=1"
    return (
        f"<tr><td><a href='{link}'>{escape(told['title'])}</a><td>{escape(told['kind'])}<td>{told['rate']}"
        f"<td>{told['kept']}<td>{newest}<td>{sources}{f' and {more} more' if more > 0 else ''}</tr>"
    )
