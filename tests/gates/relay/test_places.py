"""Where a kept stream stands in its chains, as a file."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.broker.errors import StoreError
from triplewire.gates.relay.places import Places

A, B, C = b"chain--a", b"chain--b", b"chain--c"


class Clock:
    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def open_(tmp_path, clock):
    return lambda whose="me", last=10, most=100: Places(tmp_path / "news.places", whose, last, most, clock)


def begun(open_, **settings):
    places = open_(**settings)
    places.begun()
    return places


def test_a_stream_that_was_never_here_missed_nothing(open_):
    """What others say counts, until it is known which chains there were: not at a death before that."""
    assert (open_().is_new, open_().after(A)) == (True, None)
    places = open_()
    places.gave(A, 5)
    places.write()
    again = open_()
    assert (again.is_new, again.believed, again.after(A), again.after(B)) == (True, True, 4, None)
    again.begun()
    again.write()
    assert (open_().is_new, open_().after(B)) == (False, 0)


def test_what_was_taken_is_known_again(open_, clock):
    """Of its own chain nothing is wanted; of one that was never here all."""
    places = begun(open_)
    places.gave(A, 5)
    places.own(B)
    clock.now += 1
    places.pass_time(is_there=True)
    again = open_()
    assert (again.is_new, again.believed, again.there) == (False, True, clock.now)
    assert (again.after(A), again.after(B), again.after(C)) == (4, None, 0)
    assert again.unknown([], 60.0) == [A]
    assert again.unknown([A], 60.0) == []
    clock.now += 100
    assert again.unknown([], 60.0) == []


def test_it_is_written_once_a_second_where_something_came(open_, clock, tmp_path):
    """And now and then while others are there."""
    places = begun(open_)
    path = tmp_path / "news.places"
    places.gave(A, 2)
    clock.now += 0.5
    places.pass_time(is_there=True)
    assert not path.exists()
    clock.now += 0.5
    places.pass_time(is_there=True)
    written = path.read_bytes()
    for step_s, is_there, is_written in ((29, True, False), (2, False, False), (1, True, True)):
        clock.now += step_s
        places.pass_time(is_there=is_there)
        assert (path.read_bytes() != written) == is_written


def test_one_that_is_ahead_of_its_stream_is_not_believed(open_):
    """The stream's history has lost its end, or is another's: all is asked for again."""
    places = begun(open_, last=10)
    places.gave(A, 5)
    places.took(12)
    places.write()
    assert open_(last=12).after(A) == 4
    for settings in ({"last": 11}, {"last": 12, "whose": "another"}):
        again = open_(**settings)
        assert (again.is_new, again.believed, again.after(A)) == (False, False, 0)


def test_what_is_not_kept_any_more_is_not_told(open_):
    """Once the stream has ended."""
    places = begun(open_)
    places.gave(A, 5)
    places.freeze()
    places.gave(A, 9)
    places.write()
    assert open_().after(A) == 4


def test_it_is_bounded(open_):
    """The chain that was quiet longest goes."""
    places = begun(open_, most=2)
    for chain, following in ((A, 2), (B, 2), (A, 3), (C, 2)):
        places.gave(chain, following)
    assert (len(places), places.after(A), places.after(B), places.after(C)) == (2, 2, 0, 1)


def test_a_disk_that_fails(open_, tmp_path, caplog):
    """Reading is an error that says where; writing is tried again, and logged once."""
    places = begun(open_)
    places.gave(A, 5)
    draft = tmp_path / "news.places.draft"
    draft.mkdir()
    places.write()
    places.write()
    assert caplog.text.count("can't be kept") == 1
    draft.rmdir()
    places.write()
    assert open_().after(A) == 4
    (tmp_path / "news.places").unlink()
    (tmp_path / "news.places").mkdir()
    with pytest.raises(StoreError, match=r"news\.places"):
        open_()


@given(st.data())
def test_damage_is_seen(tmp_path_factory, data):
    """Whatever is cut off, or other than it was: the file is not believed, and nothing is ahead."""
    path = tmp_path_factory.mktemp("places") / "p"
    chains = data.draw(st.dictionaries(st.binary(min_size=8, max_size=8), st.integers(1, 2**63), max_size=4))
    places = Places(path, "me", 1, 10)
    places.begun()
    for chain, following in chains.items():
        places.gave(chain, following)
    places.write()
    again = Places(path, "me", 1, 10)
    assert {chain: again.after(chain) for chain in chains} == {c: n - 1 for c, n in chains.items()}
    whole = path.read_bytes()
    if data.draw(st.booleans()):
        damaged = whole[: data.draw(st.integers(0, len(whole) - 1))]
    else:
        at, other = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(1, 255))
        damaged = whole[:at] + bytes([whole[at] ^ other]) + whole[at + 1 :]
    path.write_bytes(damaged)
    again = Places(path, "me", 1, 10)
    assert not again.believed
    assert all(again.after(chain) == 0 for chain in chains)


def test_its_form(open_, tmp_path, clock):
    """As it is written down."""
    places = begun(open_)
    places.gave(A, 5)
    places.write()
    data = (tmp_path / "news.places").read_bytes()
    assert data[:-4] == struct.pack("<4sQdI8sQd", b"TWSp", 10, 0.0, 1, A, 5, clock.now)
