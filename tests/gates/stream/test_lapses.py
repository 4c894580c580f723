"""Who follows by a token follows as long as it is good."""

from __future__ import annotations

import asyncio
import time

from triplewire.broker.errors import Overloaded, Unauthorized
from triplewire.broker.rights import OPEN, Access, Rights, Scope
from triplewire.gates.stream.lapses import Lapses

from .serving import serving, until


class Judge:
    """Tokens and what they are good for; an error is raised."""

    def __init__(self, **good):
        self.good = good
        self.asked = 0
        self.changed = None

    def known(self, token):  # noqa: ARG002 - an authority's own form
        return None

    async def access(self, token):
        self.asked += 1
        found = self.good.get(token, Unauthorized("no"))
        if isinstance(found, Exception):
            raise found
        return found

    def listen(self, changed):
        self.changed = changed
        return lambda: None


class Follower:
    """A consumer that counts its ends."""

    ended = 0

    def end(self):
        self.ended += 1


async def test_those_whose_tokens_expire_are_ended():
    """At that moment; who needs no token is not held."""
    now = 100.0
    lapses = Lapses(Judge(), lambda: now)
    soon, later, free = Follower(), Follower(), Follower()
    lapses.hold(soon, "a", Access("ann", expires=110), "e")
    lapses.hold(later, "b", Access("bob", expires=120), "e")
    lapses.hold(free, None, OPEN, "e")
    lapses.expire()
    now = 110.0
    lapses.expire()
    assert [each.ended for each in (soon, later, free)] == [1, 0, 0]
    lapses.drop(later)
    assert not len(lapses)


async def test_each_token_is_judged_once_when_something_has_changed():
    """Revoked, without the scope, without the right to that stream; where nobody can say, it stays."""
    judge = Judge(
        good=Access("ann"),
        scope=Access("bob", scopes=frozenset({Scope.QUERY})),
        right=Access("cyd", rights=Rights(follow=frozenset({"other"}))),
        away=Overloaded("the provider is away"),
    )
    lapses = Lapses(judge)
    tokens = ["good", "good", "scope", "right", "away", "revoked"]
    followers = [Follower() for _ in tokens]
    for follower, token in zip(followers, tokens, strict=True):
        lapses.hold(follower, token, Access("x"), "e")
    await lapses.judge_again()
    assert [each.ended for each in followers] == [0, 0, 1, 1, 0, 1]
    assert judge.asked == 5


async def test_who_goes_while_tokens_are_judged_is_not_ended():
    """Nobody would hear of it."""
    lapses, judge = Lapses(Judge()), Judge()
    gone, there = Follower(), Follower()

    class Leaving(Judge):
        async def access(self, token):
            lapses.drop(gone)
            return await judge.access(token)

    lapses = Lapses(Leaving())
    for follower in (gone, there):
        lapses.hold(follower, "revoked", Access("x"), "e")
    await lapses.judge_again()
    assert [each.ended for each in (gone, there)] == [0, 1]


async def test_over_the_wire():
    """The response ends as it should, and the next request is refused."""
    judge = Judge(short=Access("ann", expires=time.time() + 0.5), long=Access("bob"))
    async with serving(authority=judge) as port:
        short = await port.follow("/events/stream", "Authorization: Bearer short")
        long = await port.follow("/events/stream", "Authorization: Bearer long")
        assert await short.chunk() == b""
        await port.publish(1)
        assert await long.ids(1) == ["1"]
        judge.good.clear()
        judge.changed()
        assert await long.chunk() == b""
        await until(lambda: not port.server.consumers)
        await asyncio.sleep(0)
