"""Whom a node shares a stream with: what both ends say, in whatever order that comes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.fake_link import FakeLink
from support.overlay import Recorder, until

from triplewire.broker.overlay_config import RelayConfig
from triplewire.gates.relay import membership
from triplewire.gates.relay.counted import Counted
from triplewire.gates.relay.forwarding import Forwarding
from triplewire.gates.relay.membership import Membership
from triplewire.gates.relay.messages import Join, Leave
from triplewire.gates.relay.statuses import Neighbour, StreamInstructions

TICKET = "a.b.c"


@pytest.fixture
async def member():
    forwarding = Forwarding(
        Recorder(), RelayConfig(), Counted(), lambda *_: None, lambda _: None, lambda: False
    )
    changed = []
    found = Membership("news", forwarding, changed.append, dial_s=0.05)
    found.changed = changed
    found.begin()
    yield found
    await forwarding.close()


def instruct(member, counter, *peers, epoch="e", **more):
    """Instructions, and links offered to those of the peers that are given as links."""
    names = [peer if isinstance(peer, str) else peer.peer for peer in peers]
    wanted = tuple(Neighbour(name, "ws://x:1/links", TICKET) for name in names)
    taken = member.take(epoch, StreamInstructions(counter, wanted, **more))
    if taken:
        for peer in peers:
            if not isinstance(peer, str):
                member.offer(peer)
        member.settle()
    return taken


async def test_both_ends_have_to_say_so(member):
    """Whoever is first: the stream is shared when the second has said it, and each says it once."""
    a, b = FakeLink("a"), FakeLink("b")
    instruct(member, 1, a, "b")
    assert a.said == [Join("news", TICKET)] and "a" not in member.forwarding
    member.asked(a)
    assert "a" in member.forwarding
    member.asked(b)
    assert b.said == [Join("news", TICKET)] and "b" in member.forwarding
    instruct(member, 1, a, b)
    assert len(a.said) == len(b.said) == 1
    assert member.status().neighbours == {"a": 7.0, "b": 7.0}
    assert member.changed == ["news", "news"]


async def test_older_instructions_do_not_count_and_a_new_epoch_does(member):
    """The same counter counts, as its tickets may be newer."""
    assert instruct(member, 5, "a")
    assert not instruct(member, 4, "b")
    assert instruct(member, 5, "a", "b")
    assert instruct(member, 1, "c", epoch="f")
    assert set(member.wanted) == {"c"}
    assert (member.status().epoch, member.status().counter) == ("f", 1)


async def test_a_refusal_has_its_place_among_instructions(member):
    """One that comes late does not beat an admission, nor the other way round."""
    assert instruct(member, 5, "a")
    assert not instruct(member, 4, refused="not for you")
    assert not member.refused
    assert instruct(member, 6, refused="not for you")
    assert not instruct(member, 5, "a")
    assert (member.refused, member.wanted) == ("not for you", {})
    assert instruct(member, 7, "a")
    assert not member.refused


async def test_who_has_nobody_to_share_it_with_is_out(member, monkeypatch):
    """After a moment; not where there is nobody else, as the tracker says."""
    now = [1000.0]
    monkeypatch.setattr(member, "_loop", SimpleNamespace(time=lambda: now[0]))

    def is_in_later():
        now[0] += 1.0
        return member.is_in

    member.begin()
    assert member.is_in
    assert not is_in_later()  # never instructed
    a = FakeLink("a")
    member.asked(a)
    for counter, peers, nodes, expected in (
        (1, (), 1, True),
        (2, ("b",), 2, False),
        (3, (a, "b"), 3, True),
        (4, ("b",), 2, False),
        (5, (), 2, False),  # nobody reaches it
        (6, (), 1, True),
    ):
        instruct(member, counter, *peers, nodes=nodes)
        assert is_in_later() is expected, counter
    instruct(member, 7, refused="not for you", nodes=0)
    assert not is_in_later()
    instruct(member, 8, nodes=1)
    assert is_in_later()
    member.settle()
    instruct(member, 9, "c", nodes=2)
    assert member.is_in  # it was until now


async def test_a_neighbour_is_left_when_the_other_one_has_come(member):
    """In the same step: never more than are wanted, and never fewer than there can be."""
    a, b, c = FakeLink("a"), FakeLink("b"), FakeLink("c")
    for link in (a, b):
        member.asked(link)
    instruct(member, 1, a, b)
    instruct(member, 2, b, c)
    assert set(member.forwarding.neighbours) == {"a", "b"}
    assert Leave("news") not in a.said
    member.asked(c)
    assert set(member.forwarding.neighbours) == {"b", "c"}
    assert a.said[-1] == Leave("news")


async def test_a_neighbour_is_left_all_the_same_when_nobody_comes(member, monkeypatch):
    """After a moment, or when the other one can't be reached."""
    monkeypatch.setattr(membership, "_AGAIN_S", 0.0)
    a, b = FakeLink("a"), FakeLink("b")
    for link in (a, b):
        member.asked(link)
    instruct(member, 1, a, b)
    instruct(member, 2, b, "c")
    member.failed("c")
    assert set(member.forwarding.neighbours) == {"b"}
    assert member.status().neighbours == {"b": 7.0, "c": None}
    member.asked(a)
    instruct(member, 3, a, b)
    instruct(member, 4, a, "d")
    monkeypatch.setattr(membership, "_BREAK_S", 0.0)
    member.settle()
    assert set(member.forwarding.neighbours) == {"a"}


async def test_where_fewer_are_wanted_the_others_go_at_once(member):
    """There is nobody to wait for."""
    links = [FakeLink(name) for name in "abcd"]
    for link in links:
        member.asked(link)
    instruct(member, 1, *links)
    instruct(member, 2, *links[:2])
    assert set(member.forwarding.neighbours) == {"a", "b"}


async def test_somebody_who_is_not_wanted_is_held_and_then_sent_away(member, monkeypatch):
    """Nothing is shared meanwhile, but it may ask; instructions that come in time let it in."""
    monkeypatch.setattr(membership, "_HELD_S", 0.05)
    x, y = FakeLink("x"), FakeLink("y")
    member.asked(x)
    member.asked(y)
    assert not member.forwarding.neighbours
    assert member.may_ask(x) and member.knows("x")
    instruct(member, 1, y)
    assert "y" in member.forwarding

    def sent_away():
        member.settle()
        return x.said == [Leave("news")]

    await until(sent_away)
    assert not member.may_ask(x) and not member.knows("x")
    assert "y" in member.forwarding


async def test_to_begin_again_and_again_costs_a_peer_more_than_us(member, monkeypatch):
    """Each time it would get all certificates: so it waits a little, and then it is let in."""
    monkeypatch.setattr(membership, "_AGAIN_S", 0.1)
    a = FakeLink("a")
    instruct(member, 1, a)
    shared = 0
    for _ in range(50):
        member.asked(a)
        shared += "a" in member.forwarding
        member.left(a)
    assert shared == 1
    member.asked(a)

    def let_in():
        member.settle()
        return "a" in member.forwarding

    await until(let_in)


async def test_after_a_leave_both_begin_anew(member, monkeypatch):
    """Who was left says JOIN again only when it is instructed again."""
    monkeypatch.setattr(membership, "_AGAIN_S", 0.0)
    a = FakeLink("a")
    member.asked(a)
    instruct(member, 1, a)
    member.left(a)
    assert "a" not in member.forwarding
    assert len(a.said) == 1
    instruct(member, 2, a)
    assert a.said == [Join("news", TICKET)] * 2
    member.asked(a)
    assert "a" in member.forwarding


async def test_who_does_not_come_in_time_is_missed(member):
    """And is no longer missed when it has come, or is not wanted any more."""
    a = FakeLink("a")
    instruct(member, 1, "a", "b")
    assert member.status().neighbours == {}

    def missed():
        member.settle()
        return member.status().neighbours == {"a": None, "b": None}

    await until(missed)
    member.asked(a)
    assert member.status().neighbours == {"a": 7.0, "b": None}
    instruct(member, 2, a)
    assert member.status().neighbours == {"a": 7.0}


async def test_the_end_leaves_everybody(member):
    """Neighbours, and those who were only held; and what comes later is not taken."""
    a, x = FakeLink("a"), FakeLink("x")
    member.asked(a)
    member.asked(x)
    instruct(member, 1, a)
    member.end()
    assert a.said[-1] == x.said[-1] == Leave("news")
    assert not member.forwarding.neighbours and not member.wanted
    member.asked(a)
    assert "a" not in member.forwarding
