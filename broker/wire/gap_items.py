"""The marker of a gap in a stream: an item that says which others could not be got, in the place where they would be.

::

    Event-Id: gap-<chain>-<first>-<last>          the same at whichever relay it is made
    Source-Id: <the stream's own>
    Syntax: application/json
    Event-Type: Triplewire-Gap

    {"gap": {"chain": "0011223344556677", "publisher": "client-1", "first": 7, "last": 9}}

To who does not know it, it is an item like others.

Where the chain is "*", items of any chain may be missing that were published between the times `first` and `last`, in seconds
since 1970.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from .items import Item

GAP: Final = "Triplewire-Gap"
ANY_CHAIN: Final = "*"
_JSON: Final = "application/json"
# What is longer is no marker, and is not worth a look.
_MOST_BYTES: Final = 4096


class Missing(NamedTuple):
    """The items `first` to `last` of a chain; `publisher` is the client that the chain is certified for, "" for none."""

    chain: str
    publisher: str
    first: int
    last: int


def gap_item(missing: Missing, source_id: str) -> Item:
    """The marker, in the stream whose own Source-Id this is.

    Raises:
        ItemError: there can be no item with these.
    """
    body = json.dumps({"gap": missing._asdict()}, separators=(",", ":")).encode()
    event_id = f"gap-{missing.chain}-{missing.first}-{missing.last}"
    return Item(event_id, source_id, _JSON, body, event_type=GAP)


def missing_of(item: Item) -> Missing | None:
    """What the marker says; None where the item is none."""
    if item.event_type != GAP or item.syntax != _JSON or len(item.body) > _MOST_BYTES:
        return None
    try:
        document = json.loads(item.body)
    except (ValueError, RecursionError):
        return None
    gap = document.get("gap") if isinstance(document, dict) else None
    if not isinstance(gap, dict):
        return None
    chain, publisher, first, last = (gap.get(name) for name in Missing._fields)
    if not isinstance(chain, str) or not isinstance(publisher, str) or not chain:
        return None
    # JSON's true is an int in Python
    if type(first) is not int or type(last) is not int or not 0 < first <= last:
        return None
    return Missing(chain, publisher, first, last)
