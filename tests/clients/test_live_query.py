import threading
from collections import Counter
from concurrent.futures import Future

import pytest
from pyoxigraph import Literal

from triplewire.broker.model import BindingsDelta, Query
from triplewire.clients.callbacks import Callbacks
from triplewire.clients.live_query import LiveQuery, State


@pytest.fixture
def live():
    return LiveQuery(Query("SELECT"), "mine", Callbacks())


def test_it_begins_by_waiting(live):
    """For first results, with an empty answer."""
    assert live.state is State.WAITING
    assert live.answer == []
    assert repr(live) == "<LiveQuery 'mine' waiting for first results>"


def test_the_answer_is_rows_with_duplicates(live):
    """As mappings."""
    live.kept.apply(BindingsDelta(("x", "y"), Counter([(Literal(1), None)] * 2), Counter()))

    assert live.vars == ("x", "y")
    assert live.answer == [{"x": Literal(1)}, {"x": Literal(1)}]


def test_the_answer_can_be_read_while_it_changes(live):
    """By another thread."""
    stop = threading.Event()

    def change():
        number = 0
        while not stop.is_set():
            number += 1
            live.kept.apply(
                BindingsDelta(("x",), Counter([(Literal(number),)]), Counter([(Literal(number - 50),)]))
            )

    thread = threading.Thread(target=change)
    thread.start()
    try:
        assert all(len(live.answer) <= 51 for _ in range(300))
    finally:
        stop.set()
        thread.join()


def test_whoever_waits_is_let_go_once(live):
    """And it is told whether there was anybody."""
    live.waiter = waiter = Future()

    assert live.settle()
    assert waiter.result(0) is None
    assert not live.settle()


def test_whoever_waits_hears_of_the_error(live):
    """It is raised where they wait."""
    live.waiter = waiter = Future()

    assert live.settle(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        waiter.result(0)


def test_whoever_has_given_up_waiting_is_let_be(live):
    """A future can be settled once only."""
    live.waiter = waiter = Future()
    waiter.cancel()

    assert not live.settle()
