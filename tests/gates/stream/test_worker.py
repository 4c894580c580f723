"""What a worker process remembers of tokens."""

from __future__ import annotations

import pytest

from triplewire.broker.errors import Unauthorized
from triplewire.broker.rights import Access
from triplewire.gates.stream.worker import RemoteAuthority


class Main:
    """Answers what a worker asks for."""

    def __init__(self):
        self.asked = 0
        self.authority = None

    async def ask(self, what):
        self.asked += 1
        if what.token == "bad":
            raise Unauthorized("no")
        if what.token == "changing":
            self.authority.changed()
        return Access(what.token or "", expires=100.0)


async def test_what_was_said_of_a_token_holds_until_it_expires():
    """Or until something has changed."""
    now, main, changed = 50.0, Main(), []
    authority = RemoteAuthority(main, now=lambda: now)
    authority.listen(lambda: changed.append(1))
    assert authority.known("a") is None
    access = await authority.access("a")
    assert authority.known("a") is access
    authority.changed()
    assert changed == [1]
    assert authority.known("a") is None
    await authority.access("a")
    now = 100.0
    assert authority.known("a") is None
    assert main.asked == 2


async def test_what_is_not_good_is_not_remembered():
    """Nor what was said before a change, and came behind it; nor more than so many."""
    main = Main()
    main.authority = authority = RemoteAuthority(main, most=2, now=lambda: 0.0)
    with pytest.raises(Unauthorized):
        await authority.access("bad")
    assert authority.known("bad") is None
    await authority.access("changing")
    assert authority.known("changing") is None
    for token in ("a", "b", "c"):
        await authority.access(token)
    assert [authority.known(token) is not None for token in ("a", "b", "c")] == [False, True, True]
