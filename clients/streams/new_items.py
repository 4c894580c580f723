"""Items that nobody has published before: with an id of their own and the time."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import TYPE_CHECKING

from triplewire.broker.wire.items import Item

if TYPE_CHECKING:
    from collections.abc import Iterable


def new_item(  # noqa: PLR0913 - the item's own fields, all but three by keyword
    source_id: str,
    syntax: str,
    body: bytes,
    *,
    application_id: str | None = None,
    event_type: str | None = None,
    headers: Iterable[tuple[str, str]] = (),
) -> Item:
    """An item of `source_id` with a random id and this moment's Timestamp.

    Raises:
        ItemError: it would be none.
    """
    # Milliseconds and the offset of the local time, as the publishers of Ztreamy write it.
    now = dt.datetime.now().astimezone().isoformat(timespec="milliseconds")
    return Item(
        str(uuid.uuid4()),
        source_id,
        syntax,
        body,
        application_id=application_id,
        event_type=event_type,
        timestamp=now,
        headers=tuple(headers),
    )
