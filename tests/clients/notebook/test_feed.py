import threading
from collections import Counter

import pytest
from pyoxigraph import Literal

from triplewire.broker.errors import ClientError
from triplewire.broker.model import BindingsDelta, Notification
from triplewire.clients.notebook.feed import Feed


def tell(feed, *added, removed=()):
    rows = (Counter((Literal(value),) for value in values) for values in (added, removed))
    feed.callbacks()["on_notification"](Notification("urn:s", None, 1, BindingsDelta(("n",), *rows)))


def test_each_change_is_waited_for_once():
    """Those that came before the wait count: nothing is missed between two waits."""
    feed = Feed(10, 10)
    feed.callbacks()["on_first_results"]([])
    for number in range(3):
        tell(feed, number)

    feed.wait(1, 0)
    feed.wait(2, 0)
    with pytest.raises(TimeoutError, match="0 of 1 changes came within 0 s"):
        feed.wait(1, 0)


def test_changes_that_came_in_part_are_left_for_the_next_wait():
    """A timeout takes nothing."""
    feed = Feed(10, 10)
    tell(feed, 1)
    with pytest.raises(TimeoutError, match="1 of 2"):
        feed.wait(2, 0)

    feed.wait(1, 0)


def test_a_wait_ends_with_the_change():
    """Told by another thread."""
    feed = Feed(10, 10)
    teller = threading.Timer(0.05, tell, [feed, 1])
    teller.start()

    feed.wait(1, 5)
    teller.join()


def test_a_wait_ends_with_the_feed():
    """With what ended it."""
    feed = Feed(10, 10)
    closer = threading.Timer(0.05, feed.close)
    closer.start()
    with pytest.raises(ClientError, match="closed, and 0 of 1 changes came before"):
        feed.wait(1, 5)
    closer.join()

    failed = Feed(10, 10)
    failed.callbacks()["on_error"](RuntimeError("no more"))
    with pytest.raises(ClientError, match="has ended: no more"):
        failed.wait(1, 5)


def test_an_answer_that_grows_too_large_ends_it():
    """Rows are counted as they come and go."""
    hung_up = []
    feed = Feed(2, 10)
    feed.hang_up = lambda: hung_up.append(True)

    tell(feed, 1, 2)
    tell(feed, 3, removed=[1])
    assert (feed.closed, hung_up) == (False, [])
    tell(feed, 4)

    assert hung_up == [True]
    assert feed.closed
    assert "more than 2 rows" in str(feed.error)


def test_the_version_tells_of_everything():
    """Changes, the connection, the end."""
    feed = Feed(10, 10)
    seen = [feed.version]
    for happen in (lambda: tell(feed, 1), lambda: feed.lost(None), lambda: feed.back(None), feed.close):
        happen()
        seen.append(feed.changed(seen[-1], 0))

    assert len(set(seen)) == 5
    assert feed.changed(seen[-1], 60) == seen[-1], "a closed feed keeps nobody waiting"
