import gc
import threading

import pytest

from triplewire.broker.errors import BrokerRefused, ClientError, ConnectionLost
from triplewire.clients import ClientSettings
from triplewire.clients.notebook import Live

SELECT = "SELECT ?n { <urn:s> <urn:p>/<urn:q>* ?n }"
QUICK = ClientSettings(timeout_s=5, backoff_first_s=0.01, backoff_longest_s=0.05)


def insert(*numbers):
    return f"INSERT DATA {{ <urn:s> <urn:p> {', '.join(map(str, numbers))} }}"


def numbers(live):
    return sorted(live.frame["n"].tolist())


def until(condition):
    """Wait for what other threads do."""
    waiting = threading.Event()
    for _ in range(500):
        if condition():
            return
        waiting.wait(0.01)
    raise AssertionError("it did not come about within 5 s")


@pytest.fixture
def live(fake):
    fake.update(insert(1))
    with Live(fake.ws, SELECT, settings=QUICK) as live:
        yield live


def test_the_frame_is_current(fake, live):
    """First results at once; then as changes come."""
    assert numbers(live) == [1]
    assert str(live.frame["n"].dtype) == "Int64"

    fake.update(insert(2, 3))
    assert sorted(live.wait(timeout_s=5)["n"]) == [1, 2, 3]
    fake.update("DELETE DATA { <urn:s> <urn:p> 1 }")
    live.wait(timeout_s=5)

    assert numbers(live) == [2, 3]


def test_the_frame_is_the_users(live):
    """Changing it changes no other."""
    mine = live.frame
    mine.loc[0, "n"] = 99

    assert numbers(live) == [1]


def test_changes_are_held(fake, live):
    """First results are number 0."""
    fake.update("DELETE { ?s ?p 1 } INSERT { ?s ?p 2 } WHERE { ?s ?p 1 }")
    live.wait(timeout_s=5)

    changes = live.changes
    assert changes["n"].tolist() == [1, 2, 1]
    assert changes.index.get_level_values("number").tolist() == [0, 1, 1]
    assert changes.index.get_level_values("change").tolist() == ["+", "+", "-"]
    assert changes.xs("+", level="change")["n"].tolist() == [1, 2]
    assert live.dropped == 0


def test_the_history_is_bounded(fake):
    """It says how much is missing."""
    with Live(fake.ws, SELECT, settings=QUICK, history=2) as live:
        for number in range(5):
            fake.update(insert(number))
        live.wait(5, timeout_s=5)

        assert live.changes["n"].tolist() == [3, 4]
        assert live.dropped == 4  # the first results, which were empty, too


def test_a_lost_connection_is_made_again(fake, live):
    """What was missed is in the frame; meanwhile it says that it is old."""
    fake.stop()
    until(lambda: not live.connected)
    assert "the connection is lost" in repr(live)
    fake.update(insert(2))
    assert numbers(live) == [1]
    fake.start()

    assert sorted(live.wait(timeout_s=5)["n"]) == [1, 2]
    assert live.connected


def test_an_answer_that_is_too_large_is_refused(fake):
    """At the beginning, and when it grows."""
    fake.update(insert(1, 2))
    with pytest.raises(ClientError, match="more than 1 rows"):
        Live(fake.ws, SELECT, settings=QUICK, rows_limit=1)

    with Live(fake.ws, SELECT, settings=QUICK, rows_limit=2) as live:
        fake.update(insert(3))
        until(lambda: live.closed)
        assert "more than 2 rows" in str(live.error)
        with pytest.raises(ClientError, match="has ended"):
            live.wait(2, timeout_s=5)
    until(lambda: fake.subscriptions == 0)


def test_closing_leaves_the_frame(fake, live):
    """And the subscription goes."""
    live.close()
    live.close()

    assert numbers(live) == [1]
    assert (live.closed, live.connected, live.error) == (True, False, None)
    until(lambda: fake.subscriptions == 0)


def test_one_that_nobody_holds_is_closed(fake):
    """As where a notebook's cell is run again."""
    live = Live(fake.ws, SELECT, settings=QUICK)
    assert fake.subscriptions == 1
    del live
    gc.collect()

    until(lambda: fake.subscriptions == 0)


def test_what_can_not_be_subscribed_is_refused(broker):
    """With the broker's own words, and nothing left running."""
    before = threading.active_count()
    with pytest.raises(BrokerRefused, match="line 1"):
        Live(broker.http, "SELECT nonsense")
    with pytest.raises(ConnectionLost):
        Live("http://127.0.0.1:1", SELECT)
    with pytest.raises(ValueError, match="ftp"):
        Live("ftp://localhost", SELECT)
    with pytest.raises(ValueError, match="rows_limit"):
        Live(broker.http, SELECT, rows_limit=0)

    until(lambda: threading.active_count() == before)


def test_waiting_for_nothing_is_a_mistake(live):
    """It would return at once."""
    with pytest.raises(ValueError, match="changes=0"):
        live.wait(0)


def test_a_notebook_shows_it_as_a_table(fake, live):
    """With how it stands, and nothing of the data as markup."""
    fake.update('INSERT DATA { <urn:s> <urn:p> "<script>" }')
    live.wait(timeout_s=5)

    shown = live._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert shown.endswith("<p>2 rows, live</p>")


def test_duplicates_are_a_bag_at_a_real_broker(broker):
    """By the HTTP port's URL."""
    from triplewire.clients import SparqlClient

    with SparqlClient(broker.http) as client, Live(broker.http, "SELECT ?o { ?s <urn:bag> ?o }") as live:
        client.update("INSERT DATA { <urn:a> <urn:bag> 1 . <urn:b> <urn:bag> 1 }")
        assert live.wait(timeout_s=10)["o"].tolist() == [1, 1]
        client.update("DELETE DATA { <urn:a> <urn:bag> 1 }")
        assert live.wait(timeout_s=10)["o"].tolist() == [1]

        assert live.vars == ("o",)
