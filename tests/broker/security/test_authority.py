"""Where nobody has to say who they are."""

from __future__ import annotations

from triplewire.broker.rights import OPEN
from triplewire.broker.security.authority import Nobody, access_of


async def test_everybody_may_do_everything():
    """With any token, or none."""
    authority = Nobody()
    assert authority.known("anything") is OPEN
    assert await authority.access(None) is OPEN
    assert authority.still(OPEN) is OPEN
    authority.listen(lambda: None)()


class Asked:
    """Knows one token, and has to ask somebody for others."""

    def __init__(self):
        self.asked = []

    def known(self, token):
        return OPEN if token == "known" else None

    async def access(self, token):
        self.asked.append(token)
        return OPEN


async def test_nobody_is_asked_for_what_is_known():
    """Who shows no token is judged as well."""
    judge = Asked()
    assert [await access_of(judge, token) for token in ("known", "other", None)] == [OPEN] * 3
    assert judge.asked == ["other", None]
