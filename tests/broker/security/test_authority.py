"""Where nobody has to say who they are."""

from __future__ import annotations

from triplewire.broker.rights import OPEN
from triplewire.broker.security.authority import Nobody


async def test_everybody_may_do_everything():
    """With any token, or none."""
    authority = Nobody()
    assert authority.known("anything") is OPEN
    assert await authority.access(None) is OPEN
    assert authority.still(OPEN) is OPEN
    authority.listen(lambda: None)()
