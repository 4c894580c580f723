"""Large changes are encoded on a thread, once for all whom they concern, so that the event loop goes on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from triplewire.broker.wire.results import encode_delta

from .line import rows_of

if TYPE_CHECKING:
    from triplewire.broker.model import BindingsDelta

# Encoding costs about 3 us a row.
ROWS_ENCODED_HERE = 1000

_encoding: dict[int, asyncio.Task[bytes]] = {}


def is_large(delta: BindingsDelta) -> bool:
    """Whether it takes longer than others should wait, and was not encoded before."""
    return rows_of(delta) > ROWS_ENCODED_HERE and not delta.encoded


async def encoded(delta: BindingsDelta) -> None:
    """Encode a large change, however many subscribers wait for it."""
    task = _encoding.get(id(delta))
    if task is None:
        task = asyncio.create_task(asyncio.to_thread(encode_delta, delta))
        _encoding[id(delta)] = task
        task.add_done_callback(lambda _: _encoding.pop(id(delta)))
    await asyncio.shield(task)
