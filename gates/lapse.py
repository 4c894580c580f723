"""Waiting until what a token was good for is over: for streams that would not end by themselves."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from triplewire.broker.rights import Access, Scope
    from triplewire.broker.security.authority import Authority

_LONGEST_S = 3600.0  # a clock may be set: it is looked at again at least so often


async def lapsed(authority: Authority, access: Access, scope: Scope) -> None:
    """Return when the token has run out, was revoked, or is not good for `scope` any more."""
    changed = asyncio.Event()
    unlisten = authority.listen(changed.set)
    try:
        while (left_s := access.expires - time.time()) > 0:
            changed.clear()
            still = authority.still(access)
            if still is None or scope not in still.scopes:
                return
            try:
                async with asyncio.timeout(min(left_s, _LONGEST_S)):
                    await changed.wait()
            except TimeoutError:
                continue
    finally:
        unlisten()
