"""Which nodes are alive, whose their names are, and how often they may speak."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
from support.simulated_nodes import a_status

from triplewire.broker.errors import Conflict, NotFound, TooManyRequests
from triplewire.broker.overlay_config import TrackerConfig
from triplewire.broker.rights import OPEN, Access
from triplewire.gates.relay.delays import Delays
from triplewire.gates.relay.judge import Everybody
from triplewire.gates.relay.nodes import Nodes
from triplewire.gates.relay.statuses import StreamStatus

CONFIG = TrackerConfig(silent_s=8.0, gone_s=2.0, nodes=3, statuses_per_s=10.0)


def nodes(**settings):
    return Nodes(replace(CONFIG, **settings), Delays())


def test_who_is_silent_is_gone():
    """After silent_s without a status."""
    found = nodes()
    found.tell(a_status("a"), OPEN, 0.0)
    found.tell(a_status("b"), OPEN, 5.0)
    found.tell(a_status("a", number=2), OPEN, 6.0)
    for now in (3.0, 6.0, 9.0, 11.0, 12.9):
        assert found.gone(now) == []
    assert found.gone(13.0) == ["b"]
    assert found.gone(14.0) == ["b", "a"]


def test_while_nobody_looked_nobody_was_silent():
    """A process that stood still has read nothing meanwhile; what was before that counts."""
    found = nodes()
    assert found.gone(0.0) == []
    for name, now in (("a", 0.0), ("b", 1.0), ("c", 2.0)):
        found.tell(a_status(name), OPEN, now)
    found.listen("c", "i")
    found.unlisten(found.get("c"), 2.0)
    assert found.gone(3.0) == []
    assert found.gone(60.0) == []
    found.tell(a_status("a", number=2), OPEN, 60.0)
    assert found.gone(61.0) == ["c"]
    found.remove("c")
    assert found.gone(64.0) == []
    assert found.gone(66.0) == ["b"]


def test_who_listens_no_more_is_gone_soon():
    """Unless it opens another stream of instructions, or has one still."""
    found = nodes()
    for name in ("a", "b", "c"):
        found.tell(a_status(name), OPEN, 0.0)
        found.listen(name, "i")
    found.listen("c", "i")
    for name in ("a", "b", "c"):
        found.unlisten(found.get(name), 1.0)
    found.listen("b", "i")
    assert found.gone(2.9) == []
    assert found.gone(3.0) == ["a"]


def test_a_name_is_one_processs_as_long_as_that_is_alive():
    """It is alive while it listens; before it has listened, until it is silent for too long."""
    found = nodes()
    found.tell(a_status("a", "1"), OPEN, 0.0)
    with pytest.raises(Conflict, match="another process") as refused:
        found.is_taken(a_status("a", "2"), OPEN)
    assert (refused.value.code, refused.value.status) == ("node_in_use", 409)
    found.listen("a", "1")
    with pytest.raises(Conflict):
        found.is_taken(a_status("a", "2"), OPEN)
    with pytest.raises(Conflict):
        found.listen("a", "2")
    found.unlisten(found.get("a"), 1.0)
    assert found.is_taken(a_status("a", "2"), OPEN)
    assert not found.is_taken(a_status("a", "1", number=5), OPEN)
    assert not found.is_taken(a_status("b", "2"), OPEN)


def test_a_process_that_moves_comes_anew():
    """Others were told where it takes links."""
    found = nodes()
    found.tell(a_status("a"), OPEN, 0.0)
    assert found.is_taken(a_status("a", links_at="ws://elsewhere/links"), OPEN)


def test_there_are_so_many_and_no_more():
    """Those that are there may go on."""
    found = nodes()
    for name in ("a", "b", "c"):
        assert not found.is_taken(a_status(name), OPEN)
        found.tell(a_status(name), OPEN, 0.0)
    with pytest.raises(TooManyRequests, match=r"tracker\.nodes"):
        found.is_taken(a_status("d"), OPEN)
    assert not found.is_taken(a_status("a"), OPEN)
    found.remove("b")
    assert not found.is_taken(a_status("d"), OPEN)


def test_a_client_has_so_many_nodes_and_no_more():
    """Whatever it calls them; others have theirs, and where nobody has to say who they are all have what there is."""
    found = nodes(client_nodes=2, nodes=100)
    ann, bob = Access("ann"), Access("bob")
    for name in ("a", "b"):
        assert not found.is_taken(a_status(name), ann)
        found.tell(a_status(name), ann, 0.0)
    with pytest.raises(TooManyRequests, match=r"'ann' has 2 nodes.*tracker\.client_nodes"):
        found.is_taken(a_status("c"), ann)
    assert not found.is_taken(a_status("a"), ann)
    assert not found.is_taken(a_status("c"), bob)
    assert not found.is_taken(a_status("c"), Access("ann", issuer="another"))
    found.tell(a_status("b", number=1), ann, 0.0)
    found.remove("b")
    assert not found.is_taken(a_status("c"), ann)
    found.remove("a")
    assert not found._owned
    for number in range(10):
        for who in (OPEN, Access(f"client-{number}")):
            assert not found.is_taken(a_status(f"n{number}{who.client}"), who)
            found.tell(a_status(f"n{number}{who.client}"), who, 0.0)
    free = nodes(client_nodes=0, nodes=100)
    for number in range(50):
        assert not free.is_taken(a_status(f"n{number}"), ann)
        free.tell(a_status(f"n{number}"), ann, 0.0)


def test_a_late_status_changes_nothing():
    """One that came after a newer one of the same process; a node that does not count is always heard."""
    found = nodes()
    found.tell(a_status("a", number=7, region="eu"), OPEN, 0.0)
    for number in (6, 7):
        node, is_new = found.tell(a_status("a", number=number, region="us"), OPEN, 1.0)
        assert not is_new
        assert (node.status.region, node.seen) == ("eu", 0.0)
    node, is_new = found.tell(a_status("a", number=8, region="us"), OPEN, 1.0)
    assert is_new
    assert (node.status.region, node.seen) == ("us", 1.0)
    assert found.tell(a_status("a", number=0), OPEN, 2.0)[1]


def test_a_node_may_speak_so_often():
    """What a second allows may come at once; leaving does not buy it more."""
    found = nodes()
    for _ in range(10):
        found.speaks("a", OPEN, 0.0)
    with pytest.raises(TooManyRequests, match=r"10 times a second \(tracker\.statuses_per_s\)"):
        found.speaks("a", OPEN, 0.0)
    found.speaks("b", OPEN, 0.0)
    found.speaks("a", OPEN, 0.1)
    found.remove("a")
    with pytest.raises(TooManyRequests):
        found.speaks("a", OPEN, 0.1)
    for step in range(2, 100):
        found.speaks("a", OPEN, step / 10)


def test_a_client_may_speak_as_often_as_all_its_nodes():
    """Names that it makes up buy it nothing; its nodes come within seconds of each other, and others are heard meanwhile."""
    found = nodes(nodes=100, client_nodes=100)
    ann, bob = Access("ann"), Access("bob")
    taken = 0
    for number in range(1000):
        with contextlib.suppress(TooManyRequests):
            found.speaks(f"made-up-{number}", ann, number / 1000)
            taken += 1
    assert 18 <= taken <= 21  # ten at once, and ten in this second
    with pytest.raises(TooManyRequests, match="the client 'ann' speaks for its nodes more than 10 times"):
        found.speaks("a", ann, 0.999)
    found.speaks("b", bob, 1.0)

    waiting, now = [f"n{number}" for number in range(100)], 100.0
    while waiting:
        for name in waiting[:]:
            try:
                found.speaks(name, bob, now)
            except TooManyRequests:
                continue
            found.tell(a_status(name), bob, now)
            waiting.remove(name)
        now += 0.1
    assert now < 105.0
    for _ in range(5):
        for number in range(100):
            found.speaks(f"n{number}", bob, now)
        now += 0.5
    found.spends("n0", bob, 200_000, now)
    with pytest.raises(TooManyRequests, match="client"):
        found.speaks("n1", bob, now)


def test_what_is_said_elsewhere_under_a_nodes_name_takes_nothing_from_it():
    """Names are known to all who see the overlay; the node is heard, and may ask."""
    found = nodes()
    for _ in range(10):
        found.speaks("a", OPEN, 0.0, "192.0.2.1")
        found.asks("a", 0.0, "192.0.2.1")
    found.spends("a", OPEN, 1000, 0.0, "192.0.2.1")
    for does in (
        lambda: found.speaks("a", OPEN, 0.0, "192.0.2.1"),
        lambda: found.asks("a", 0.0, "192.0.2.1"),
    ):
        with pytest.raises(TooManyRequests):
            does()
    found.speaks("a", OPEN, 0.0, "198.51.100.7")
    found.asks("a", 0.0, "198.51.100.7")


def test_those_who_spoke_long_ago_are_forgotten():
    """Nothing is kept of strangers."""
    found = nodes(statuses_per_s=1.0)
    for number in range(1000):
        found.speaks(f"n{number}", OPEN, number / 100)
    assert len(found._statuses) <= 101


def test_one_status_in_ten_seconds_may_be_allowed():
    """A rate below one a second works, too."""
    found = nodes(statuses_per_s=0.1)
    found.speaks("a", OPEN, 0.0)
    with pytest.raises(TooManyRequests):
        found.speaks("a", OPEN, 9.0)
    found.speaks("a", OPEN, 10.0)


def test_alive_as_this_process():
    """Or it is said why not."""
    found = nodes()
    with pytest.raises(NotFound, match="status first"):
        found.alive("a", "i")
    found.tell(a_status("a"), OPEN, 0.0)
    assert found.alive("a", "i").status.node == "a"
    with pytest.raises(Conflict):
        found.alive("a", "j")


def test_who_would_join_a_stream():
    """By the newest status, and as long as it is alive."""
    found = nodes()
    found.tell(a_status("a", carries=("S", "T")), OPEN, 0.0)
    found.tell(a_status("b", carries=("S",)), OPEN, 0.0)
    assert (found.carriers("S"), found.carriers("T"), found.carriers("U")) == (["a", "b"], ["a"], [])
    found.tell(a_status("a", number=1, carries=("U",)), OPEN, 1.0)
    assert (found.carriers("S"), found.carriers("T"), found.carriers("U")) == (["b"], [], ["a"])
    found.remove("b")
    found.remove("a")
    assert not found._carriers


def test_who_may_not_follow_a_stream_does_not_carry_it():
    """Names of streams are free, too: they would push out those of others."""

    class Judge(Everybody):
        may = frozenset("ST")

        def refusal(self, stream, _):
            return "" if stream in self.may else "no"

    judge = Judge()
    found = Nodes(replace(CONFIG, streams=1), Delays(), judge)
    found.tell(a_status("a", carries=tuple(f"made-up-{number}" for number in range(40))), OPEN, 0.0)
    assert not found._carriers
    found.tell(a_status("b", carries=("S", "U")), OPEN, 0.0)
    assert (found.carriers("S"), found.carriers("U")) == (["b"], [])
    judge.may = frozenset("U")
    found.tell(a_status("b", carries=("S", "U"), number=1), OPEN, 1.0)
    assert (found.carriers("S"), found.carriers("U")) == ([], ["b"])


def test_how_far_a_place_is():
    """By its region's name, as long as a node is there."""
    found = nodes()
    found.tell(a_status("a", region="eu"), OPEN, 0.0)
    found.tell(a_status("b", region="us"), OPEN, 0.0)
    assert found.far_ms("eu", "a") < found.far_ms("eu", "b")
    assert found.far_ms("", "a") == found.far_ms("", "b") == 0.0
    assert found.far_ms("mars", "a") == found.far_ms("mars", "b")
    found.tell(a_status("a", number=1, region="us"), OPEN, 1.0)
    assert found.far_ms("us", "a") == found.far_ms("us", "b")


def test_how_full_a_node_is():
    """All its streams together, and who was sent there since it told."""
    found = nodes()
    streams = {"S": StreamStatus(consumers=30), "T": StreamStatus(consumers=10)}
    node, _ = found.tell(a_status("a", capacity=100, streams=streams), OPEN, 0.0)
    assert node.load == 0.4
    node.sent += 10
    assert node.load == 0.5
    found.tell(a_status("a", capacity=100, streams=streams, number=1), OPEN, 1.0)
    assert node.load == 0.4
    assert found.tell(a_status("b", capacity=0), OPEN, 0.0)[0].load >= 1.0


def test_who_says_that_it_is_empty_has_those_who_were_sent_to_it():
    """For a while, whatever it says and however often; and it is believed to take so many and no more."""
    found = nodes(capacity=1000)
    node, _ = found.tell(a_status("a", capacity=2**53 - 1), OPEN, 0.0)
    for number in range(100):
        node.sent += 1
        found.tell(a_status("a", capacity=2**53 - 1, number=number + 1), OPEN, number / 100)
    assert node.load == pytest.approx(0.1, rel=0.02)
    found.tell(a_status("a", capacity=2**53 - 1, number=200), OPEN, 30.99)
    assert node.load == pytest.approx(0.05, rel=0.03)
    full = {"S": StreamStatus(consumers=40)}
    found.tell(a_status("a", capacity=100, streams=full, number=201), OPEN, 31.0)
    assert node.load == pytest.approx(0.5, rel=0.03)
    found.tell(a_status("a", capacity=100, streams=full, number=202), OPEN, 90.0)
    assert node.load == 0.4


def test_what_is_asked_does_not_count_as_a_heartbeat():
    """Who asks too often for the origins of chains, or is asked to by others' doing, can still say that it is alive."""
    found = nodes()
    for _ in range(10):
        found.asks("a", 0.0)
    with pytest.raises(
        TooManyRequests, match=r"asks more than 10 times a second \(tracker\.statuses_per_s\)"
    ):
        found.asks("a", 0.0)
    found.speaks("a", OPEN, 0.0)


def test_a_status_that_takes_long_counts_as_many():
    """Who has said so much is heard later."""
    found = nodes()
    found.speaks("a", OPEN, 0.0)
    found.spends("a", OPEN, 0, 0.0)
    found.speaks("b", OPEN, 0.0)
    found.spends("b", OPEN, 20, 0.0)
    found.speaks("a", OPEN, 0.1)
    with pytest.raises(TooManyRequests):
        found.speaks("b", OPEN, 1.0)
    found.speaks("b", OPEN, 2.1)


def test_so_many_streams_of_one_node_are_carried_and_no_more():
    """And so many of all: nobody fills the table with names."""
    found = nodes(node_streams=2, streams=3, nodes=100)
    found.tell(a_status("a", carries=("A", "B", "C")), OPEN, 0.0)
    assert [bool(found.carriers(stream)) for stream in "ABC"] == [True, True, False]
    for number in range(50):
        found.tell(a_status(f"n{number}", carries=(f"S{number}", "A")), OPEN, 0.0)
    assert len(found._carriers) == 10 * 3
    assert len(found.carriers("A")) == 51
    for name in list(found):
        found.remove(name)
    assert not found._carriers


def test_the_names_that_one_client_makes_up_leave_room_for_others():
    """It carries so many more than it may begin; what others carry already, and what is registered, it may carry as well."""

    class Judge(Everybody):
        @staticmethod
        def registered(stream):
            return stream == "registered"

    found = Nodes(replace(CONFIG, nodes=100, node_streams=8, streams=4, client_streams=1), Delays(), Judge())
    ann, bob = Access("ann"), Access("bob")
    for number in range(5):
        made_up = tuple(f"{number}.{one}" for one in range(8))
        found.tell(a_status(f"a{number}", carries=made_up), ann, 0.0)
    assert len(found._carriers) == 10
    found.tell(a_status("b", carries=("news",)), bob, 0.0)
    assert found.carriers("news") == ["b"]
    found.tell(a_status("a4", carries=("news", "registered", "4.0"), number=1), ann, 0.0)
    assert [found.carriers(name) for name in ("news", "registered", "4.0")] == [["b", "a4"], ["a4"], []]
    for name in list(found):
        found.remove(name)
    assert not found._carriers
    assert not found._carried._holders
    found.tell(a_status("open", carries=tuple(f"s{number}" for number in range(8))), OPEN, 0.0)
    found.tell(a_status("open-too", carries=tuple(f"t{number}" for number in range(8))), OPEN, 0.0)
    assert len(found._carriers) == 16


def test_a_stream_of_instructions_is_of_the_node_that_opened_it():
    """One that outlives its node, as that comes anew at another place, is not taken for one of the new node."""
    found = nodes()
    found.tell(a_status("a"), OPEN, 0.0)
    before = found.listen("a", "i")
    found.remove("a")
    found.tell(a_status("a", links_at="ws://elsewhere/links"), OPEN, 0.0)
    again = found.listen("a", "i")
    found.unlisten(before, 1.0)
    assert (before.listening, again.listening) == (0, 1)
    assert found.gone(5.0) == []
    found.unlisten(again, 5.0)
    assert found.gone(7.0) == ["a"]
