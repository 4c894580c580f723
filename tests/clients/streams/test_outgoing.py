from hypothesis import given
from hypothesis import strategies as st

from triplewire.clients.streams.outgoing import Outgoing
from triplewire.clients.streams.settings import StreamSettings


def outgoing(**settings):
    return Outgoing(StreamSettings(**settings))


def test_what_waits_is_taken_in_order_and_once():
    """A POST can be sent again as a whole."""
    waiting = outgoing()
    waiting.put(b"a")
    waiting.put(b"b")

    assert waiting.take() == b"ab"
    waiting.put(b"c")
    assert waiting.take() == b"c"
    assert waiting.take() == b""
    assert waiting.again() == b"abc"


def test_an_answer_forgets_what_was_posted():
    """Not what waits."""
    waiting = outgoing(post_items=1)
    waiting.put(b"a")
    waiting.put(b"b")
    assert waiting.take() == b"a"
    assert waiting.is_full
    assert waiting.take() == b""

    waiting.answered()
    assert (waiting.published, waiting.taken, waiting.is_idle, waiting.is_full) == (2, 1, False, False)
    assert waiting.take() == b"b"
    waiting.answered()
    assert waiting.is_idle


def test_a_post_ends_when_all_that_somebody_waits_for_is_in_it():
    """Not before, and not for what was answered."""
    waiting = outgoing()
    waiting.put(b"a")
    waiting.wanted = waiting.published
    assert not waiting.is_asked
    waiting.take()
    assert waiting.is_asked
    waiting.answered()
    assert not waiting.is_asked


def test_it_says_when_too_much_waits():
    """What is posted does not wait."""
    waiting = outgoing(waiting_items=2)
    waiting.put(b"a")
    assert not waiting.is_crowded
    waiting.put(b"b")
    assert waiting.is_crowded
    assert not waiting.is_hungry
    waiting.take()
    assert waiting.is_hungry
    assert not waiting.is_crowded


def test_a_post_is_full_by_its_bytes():
    """Whatever fits not into one by itself still goes."""
    waiting = outgoing(post_bytes=3)
    for wire in (b"aaaaa", b"b"):
        waiting.put(wire)

    assert waiting.take() == b"aaaaa"
    assert waiting.is_full


@given(st.lists(st.sampled_from(["put", "take", "answered"]), max_size=60), st.integers(1, 4))
def test_nothing_is_lost_and_nothing_comes_twice(steps, most):
    """Whatever comes in which order."""
    waiting, sent = outgoing(post_items=most), b""
    for number, step in enumerate(steps):
        if step == "put":
            waiting.put(bytes([number]))
        elif step == "take":
            sent += waiting.take()
        else:
            waiting.answered()
    while not waiting.is_idle:
        sent += waiting.take()
        waiting.answered()

    assert sent == bytes(number for number, step in enumerate(steps) if step == "put")
