"""Pairs that can't be linked are given up, and nobody can choose neighbours by saying so."""

from __future__ import annotations

from triplewire.gates.relay.unlinked import Unlinked

AFTER_S, FORGIVE_S, MOST = 10.0, 60.0, 3


def unlinked():
    return Unlinked(AFTER_S, FORGIVE_S, MOST)


def part(found, one, other, now):
    """Both say that they could not reach each other; whether they are given up."""
    given_up = [
        found.heard(here, [there], {there: None}, now) for here, there in 2 * [(one, other), (other, one)]
    ]
    return any(given_up)


def test_a_pair_that_can_not_be_reached_is_given_up_at_once():
    """Where one end has tried, and the other has no link either; not by one status alone."""
    found = unlinked()
    assert found.heard("a", ["b"], {"b": None}, 0.0) == []
    assert found.heard("b", ["a"], {}, 0.1) == []
    assert found.heard("a", ["b"], {"b": None}, 0.2) == ["b"]
    assert found.heard("b", ["a"], {}, 0.3) == []  # it was forgotten at both ends


def test_a_link_that_broke_has_time_to_come_back():
    """Both lack it, and neither has given up."""
    found = unlinked()
    for now in (0.0, 3.0, 6.0, 9.0):
        assert found.heard("a", ["b"], {}, now) == []
        assert found.heard("b", ["a"], {}, now) == []
    assert found.heard("a", ["b"], {}, 10.0) == ["b"]


def test_a_link_that_came_back_is_as_new():
    """What was before is forgotten."""
    found = unlinked()
    found.heard("a", ["b"], {}, 0.0)
    found.heard("b", ["a"], {}, 0.0)
    found.heard("a", ["b"], {"b": 1.0}, 9.0)
    assert found.heard("a", ["b"], {}, 11.0) == []
    assert found.heard("a", ["b"], {}, 12.0) == []


def test_one_end_alone_is_believed_later():
    """Twice as long where it has not tried in vain."""
    found = unlinked()
    for now in (0.0, 5.0, 10.0, 15.0):
        assert found.heard("a", ["b"], {}, now) == []
    assert found.heard("a", ["b"], {}, 20.0) == ["b"]
    for now in (0.0, 5.0):
        assert found.heard("c", ["b"], {"b": None}, now) == []
    assert found.heard("c", ["b"], {"b": None}, 10.0) == ["b"]


def test_one_end_alone_is_believed_some_times():
    """And then once in half a minute."""
    found = unlinked()
    peers = ["b", "c", "d", "e"]
    said = dict.fromkeys(peers)
    assert found.heard("a", peers, said, 0.0) == []
    assert found.heard("a", peers, said, AFTER_S) == ["b", "c", "d"]
    assert found.heard("a", ["e", "f"], {"e": None, "f": None}, AFTER_S + 29.0) == []
    assert found.heard("a", ["e", "f"], {"e": None, "f": None}, AFTER_S + 30.0) == ["e"]


def test_what_both_ends_say_is_believed_some_times():
    """It counts for both, as neither is known to be at fault; who has used up what it may keeps its neighbours, and others do not."""
    found = unlinked()
    assert all(part(found, "a", peer, 0.0) for peer in "bcd")
    assert not part(found, "a", "e", 1.0)
    assert not part(found, "e", "a", 20.0)
    assert all(part(found, "e", peer, 20.0) for peer in "fb")
    assert part(found, "e", "a", 30.0)
    assert not part(found, "a", "c", 31.0)
    assert not part(found, "e", "c", 31.0)


def test_who_leaves_and_comes_back_is_not_believed_more_often():
    """Others could be had for neighbours by it."""
    found = unlinked()
    assert all(part(found, "a", peer, 0.0) for peer in "bcd")
    found.forget("a")
    assert not part(found, "a", "e", 1.0)


def test_a_pair_is_forgiven_once():
    """After a while."""
    found = unlinked()
    found.heard("a", ["b"], {"b": None}, 0.0)
    found.heard("b", ["a"], {"a": None}, 0.0)
    assert found.heard("b", ["a"], {"a": None}, 1.0) == ["a"]
    assert found.forgiven(60.9) == []
    assert found.forgiven(61.0) == [("b", "a")]
    assert found.forgiven(100.0) == []


def test_who_is_gone_is_forgotten():
    """So that one who comes under the same name is not blamed."""
    found = unlinked()
    found.heard("a", ["b"], {"b": None}, 0.0)
    found.heard("b", ["a"], {"a": None}, 0.0)
    found.forget("a")
    assert found.heard("b", ["a"], {"a": None}, 1.0) == []
    found.heard("a", ["b"], {"b": None}, 2.0)
    assert found.heard("a", ["b"], {"b": None}, 3.0) == ["b"]


def test_neighbours_that_one_has_no_more_are_not_counted():
    """What was said of them is of no meaning any more."""
    found = unlinked()
    found.heard("a", ["b"], {}, 0.0)
    found.heard("a", ["c"], {"c": 1.0}, 5.0)
    assert found.heard("a", ["b"], {}, 30.0) == []
