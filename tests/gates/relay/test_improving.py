"""Overlays are made better while nothing else happens, in turns, within a tenth of the time, and not for ever."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from triplewire.broker.overlay_config import TrackerConfig
from triplewire.gates.relay.exchanges import Improved
from triplewire.gates.relay.improving import Improving
from triplewire.gates.relay.overlay import Rest

CONFIG = TrackerConfig(improve_s=2.0, improve_nodes=100)


def overlay(nodes=20, **more):
    found = {
        "collecting": None,
        "disturbed": 0.0,
        "degree": 4,
        "members": dict.fromkeys(range(nodes)),
        "rest": Rest(),
        "is_measuring": lambda _: False,
    }
    return SimpleNamespace(**{**found, **more})


def run(improving, overlays, seconds, *, start=0.0, changes=lambda _: False, tries=1):  # noqa: PLR0913
    """How often each had its turn, with a look every 50 ms; in a turn so many exchanges are tried, each judged from all."""
    turns = dict.fromkeys(overlays, 0)
    for step in range(int(seconds * 20)):
        now = start + step / 20
        found = improving.turn(overlays, now)
        if found is not None:
            name = next(name for name, one in overlays.items() if one is found)
            turns[name] += 1
            tried = min(tries, improving.most(found)[0])
            looks = min(len(found.members), 32) * (tried + 1)
            changed = frozenset("abcd") if changes(turns[name]) else frozenset()
            improving.tried(found, Improved(changed, tried, looks), now)
    return turns


def test_nothing_is_tried_where_nodes_have_just_come():
    """Until improve_s later."""
    improving = Improving(CONFIG)
    streams = {"S": overlay(disturbed=10.0)}
    assert improving.turn(streams, 11.9) is None
    assert not improving.is_busy
    assert improving.turn(streams, 13.0) is streams["S"]
    assert improving.is_busy


def test_streams_that_are_left_alone():
    """Those that collect, in which all are linked anyway, and which are too large; and all, where it is switched off."""
    streams = {
        "collects": overlay(collecting=True),
        "small": overlay(5),
        "large": overlay(101),
        "first": overlay(6),
        "last": overlay(100),
    }
    turns = run(Improving(CONFIG), streams, 10, start=10.0)
    assert {name for name, count in turns.items() if count} == {"first", "last"}
    assert not any(run(Improving(replace(CONFIG, improve_s=0.0)), streams, 10, start=10.0).values())


def test_streams_have_their_turns():
    """None waits for another to be at rest."""
    streams = {name: overlay(50) for name in "abcd"}
    turns = run(Improving(CONFIG), streams, 20, start=10.0)
    assert max(turns.values()) - min(turns.values()) <= 1


def test_turns_take_a_part_of_the_time():
    """Where much was looked at, the next one comes later."""
    small = run(Improving(CONFIG), {"S": overlay(10)}, 2, start=10.0)["S"]
    assert 20 <= small <= 40  # at about each look
    streams = {"S": overlay(100)}
    # 64 looks at 100 nodes take about 5 ms, and 224 more than three times as long
    turns = run(Improving(CONFIG), streams, 30, start=10.0, changes=lambda _: True)["S"]
    assert 250 <= turns <= 350
    fewer = run(Improving(CONFIG), streams, 30, start=50.0, changes=lambda _: True, tries=6)["S"]
    assert 100 <= fewer <= 180


def test_a_turn_is_short():
    """About 10 ms, with any number of nodes; with many there is time for some tries all the same."""
    for count, tries, looks in ((6, 24, 2083), (16, 64, 781), (64, 64, 195), (256, 64, 64)):
        most = Improving(CONFIG).most(overlay(count))
        assert (most[0], round(most[1])) == (tries, looks)


def test_where_many_links_are_to_be_measured_nothing_is_tried():
    """Until that was done."""
    measuring = []
    streams = {"S": overlay(is_measuring=lambda now: measuring.append(now) or now < 10.5)}
    assert run(Improving(CONFIG), streams, 0.5, start=10.0)["S"] == 0
    assert measuring
    assert run(Improving(CONFIG), streams, 0.5, start=10.5)["S"] > 0


def test_a_turn_in_which_nothing_could_be_tried_counts():
    """Where all nodes are spared there is rest as well."""
    improving, streams = Improving(CONFIG), {"S": overlay(10)}
    for number in range(40):
        found = improving.turn(streams, 10.0 + number)
        improving.tried(found, Improved(frozenset(), 0, 10), 10.0 + number)
    assert streams["S"].rest.until > 300.0


def test_it_comes_to_rest():
    """When so many tries have changed nothing; and begins again when nodes come, or minutes later."""
    improving = Improving(CONFIG)
    streams = {"S": overlay(10)}
    assert run(improving, streams, 60, start=10.0)["S"] == 40
    assert not improving.is_busy
    assert run(improving, streams, 200, start=70.0)["S"] == 0
    streams["S"].disturbed, streams["S"].rest = 270.0, Rest()  # as a join does
    assert run(improving, streams, 60, start=270.0)["S"] == 40
    assert run(improving, streams, 400, start=330.0)["S"] == 40


def test_a_stream_that_has_ended_meanwhile_has_no_turn():
    """Whatever was planned."""
    improving = Improving(CONFIG)
    streams = {"a": overlay(), "b": overlay()}
    first = improving.turn(streams, 10.0)
    improving.tried(first, Improved(frozenset(), 1, 40), 10.0)
    streams.clear()
    assert improving.turn(streams, 20.0) is None
