"""Percent-encoded bytes, decoded in turns: Python needs a tenth of a microsecond a byte for it, and a body has millions.

Between two pieces the event loop rests: threads that answer queries wait for Python's lock as long as it does not.
"""

from __future__ import annotations

import asyncio
from urllib.parse import unquote_to_bytes

PIECE = 8 * 1024
REST_S = 0.001
_ESCAPE = len(b"%XX")


async def unescaped(data: bytes) -> bytes:
    """What the value of a form's field says; others have their turn while a long one is decoded."""
    end = _before_an_escape(data, PIECE)
    parts = [_decoded(data[:end])]
    while end < len(data):
        await asyncio.sleep(REST_S)
        start, end = end, _before_an_escape(data, end + PIECE)
        parts.append(_decoded(data[start:end]))
    return b"".join(parts)


def _decoded(piece: bytes) -> bytes:
    return unquote_to_bytes(piece.replace(b"+", b" "))


def _before_an_escape(data: bytes, end: int) -> int:
    """`end`, or the beginning of the escape that it would cut."""
    found = data.find(b"%", end - _ESCAPE + 1, end)
    return end if found < 0 else found
