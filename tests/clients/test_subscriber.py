import queue
import threading
from random import Random

import pytest
from pyoxigraph import Literal

from triplewire.broker.errors import BrokerRefused, ConnectionLost
from triplewire.broker.model import Failure, Query
from triplewire.clients import ClientSettings, Subscriber
from triplewire.clients.live_query import State

SELECT = "SELECT ?n { <a:b> <a:c> ?n }"
QUICK = ClientSettings(timeout_s=5, backoff_first_s=0.01, backoff_longest_s=0.05)


class Heard:
    """What callbacks were told, in order."""

    def __init__(self):
        self._queue = queue.Queue()

    def __getattr__(self, name):
        return lambda argument: self._queue.put((name, argument))

    def next(self):
        return self._queue.get(timeout=5)

    @property
    def nothing_more(self):
        return self._queue.empty()

    def callbacks(self, *names):
        return {name: getattr(self, name) for name in names}


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def subscriber(fake, heard):
    with Subscriber(
        fake.ws,
        settings=QUICK,
        rng=Random(1),
        on_disconnect=heard.on_disconnect,
        on_reconnect=heard.on_reconnect,
    ) as subscriber:
        yield subscriber


def insert(*numbers):
    return f"INSERT DATA {{ <a:b> <a:c> {', '.join(map(str, numbers))} }}"


def ns(*numbers):
    return [{"n": Literal(number)} for number in numbers]


def test_first_results_and_changes_are_called_back(fake, subscriber, heard):
    """First results before `subscribe` returns."""
    fake.update(insert(1))

    live = subscriber.subscribe(SELECT, **heard.callbacks("on_first_results", "on_added", "on_removed"))
    assert heard.next() == ("on_first_results", ns(1))
    fake.update(insert(2))
    fake.update("DELETE DATA { <a:b> <a:c> 1 }")

    assert heard.next() == ("on_added", ns(2))
    assert heard.next() == ("on_removed", ns(1))
    assert live.answer == ns(2)


def test_many_live_queries_share_one_socket(fake, subscriber, heard):
    """Each hears its own."""
    one = subscriber.subscribe(SELECT, alias="n", on_added=heard.one)
    other = subscriber.subscribe("SELECT ?s { ?s <a:d> ?o }", alias="n", on_added=heard.other)
    fake.update("INSERT DATA { <a:x> <a:d> 1 }")
    fake.update(insert(1))

    assert heard.next()[0] == "other"
    assert heard.next()[0] == "one"
    assert len(fake._sockets) == 1
    assert one.spuid != other.spuid


def test_a_query_brings_its_dataset(fake, subscriber):
    """As the protocol has it."""
    query = Query(SELECT, ("http://g/1",), ("http://g/2",))

    subscriber.subscribe(query)

    assert fake.said[0].query == query


def test_a_refused_subscribe_raises(fake, subscriber, heard):
    """Where it was asked for, and nowhere else."""
    fake.refusals.append(Failure("parsing failed", 400, "no such word"))

    with pytest.raises(BrokerRefused, match="no such word"):
        subscriber.subscribe("SELEKT", on_error=heard.on_error)

    assert heard.nothing_more
    subscriber.subscribe(SELECT)


def test_after_a_lost_connection_only_the_difference_is_called_back(fake, subscriber, heard):
    """What was missed, and what comes after."""
    fake.update(insert(1, 2))
    live = subscriber.subscribe(
        SELECT, **heard.callbacks("on_first_results", "on_notification", "on_added", "on_removed")
    )
    heard.next()
    fake.stop()
    assert heard.next()[0] == "on_disconnect"
    fake.update("DELETE DATA { <a:b> <a:c> 1 } ; " + insert(3))
    fake.start()

    assert heard.next()[0] == "on_reconnect"
    name, notification = heard.next()
    assert (name, notification.sequence, notification.spuid) == ("on_notification", 0, live.spuid)
    assert heard.next() == ("on_added", ns(3))
    assert heard.next() == ("on_removed", ns(1))
    fake.update(insert(4))
    assert heard.next()[0] == "on_notification"
    assert heard.next() == ("on_added", ns(4))


def test_a_lost_connection_without_a_difference_calls_nobody_back(fake, subscriber, heard):
    """As if it had never been away."""
    fake.update(insert(1))
    subscriber.subscribe(SELECT, **heard.callbacks("on_first_results", "on_notification"))
    heard.next()

    fake.drop()

    assert [heard.next()[0] for _ in range(2)] == ["on_disconnect", "on_reconnect"]
    fake.until(lambda: fake.subscriptions == 1)
    fake.update(insert(2))
    name, notification = heard.next()
    assert (name, notification.sequence) == ("on_notification", 1)


def test_what_is_subscribed_while_the_broker_is_away_waits_for_it(fake, subscriber, heard):
    """Once it was there."""
    subscriber.subscribe("SELECT ?s { ?s <a:d> ?o }")
    fake.stop()
    heard.next()
    done = threading.Thread(target=lambda: subscriber.subscribe(SELECT, on_first_results=heard.first))
    done.start()
    fake.start()

    names = {heard.next()[0], heard.next()[0]}

    assert names == {"on_reconnect", "first"}
    done.join(5)


def test_an_unsubscribed_query_is_told_no_more(fake, subscriber, heard):
    """And the broker no longer holds it."""
    live = subscriber.subscribe(SELECT, **heard.callbacks("on_added", "on_unsubscribe"))
    spuid = live.spuid

    subscriber.unsubscribe(live)
    fake.update(insert(1))

    assert heard.next() == ("on_unsubscribe", spuid)
    assert heard.nothing_more
    assert fake.subscriptions == 0
    subscriber.unsubscribe(live)


def test_unsubscribing_while_the_broker_is_away_is_done_at_once(fake, subscriber, heard):
    """The subscription has gone with the connection."""
    live = subscriber.subscribe(SELECT, **heard.callbacks("on_unsubscribe"))
    fake.stop()
    heard.next()

    subscriber.unsubscribe(live)

    assert heard.next()[0] == "on_unsubscribe"
    fake.start()
    heard.next()
    assert fake.subscriptions == 0


def test_callbacks_may_subscribe_and_unsubscribe(fake, subscriber, heard):
    """They do not wait for what only they could let happen."""
    lives = []

    def more(_):
        lives.append(subscriber.subscribe("SELECT ?s { ?s <a:d> ?o }", on_first_results=heard.second))
        subscriber.unsubscribe(lives[0])

    lives.append(subscriber.subscribe(SELECT, on_added=more, on_unsubscribe=heard.left))
    fake.update(insert(1))

    assert {heard.next()[0], heard.next()[0]} == {"second", "left"}


def test_what_a_callback_subscribes_in_vain_goes_to_on_error(fake, subscriber, heard):
    """It could not be raised."""
    fake.update(insert(1))

    def more(_):
        fake.refusals.append(Failure("parsing failed", 400, "no such word"))
        subscriber.subscribe("SELEKT", on_error=heard.on_error)

    subscriber.subscribe(SELECT, on_first_results=more)

    name, error = heard.next()
    assert (name, type(error)) == ("on_error", BrokerRefused)


def test_a_coroutine_function_is_no_callback_here(fake, subscriber, heard):
    """It would never run."""

    async def later(rows):
        raise AssertionError

    subscriber.subscribe(SELECT, on_first_results=later, on_error=heard.on_error)

    name, error = heard.next()
    assert (name, type(error)) == ("on_error", TypeError)


def test_a_silent_broker_is_not_waited_for_for_ever(fake):
    """Nor is the subscription left behind."""
    with Subscriber(fake.ws, settings=ClientSettings(timeout_s=1)) as subscriber:
        fake.silent = True
        with pytest.raises(ConnectionLost, match="within 1 s"):
            subscriber.subscribe(SELECT)
        fake.silent = False
        live = subscriber.subscribe(SELECT)

        assert live.state is State.LIVE


def test_a_broker_that_was_never_there_is_told_at_once(fake):
    """And may be there the next time."""
    fake.stop()
    subscriber = Subscriber(fake.ws, settings=QUICK)

    with pytest.raises(ConnectionLost, match="can't connect"):
        subscriber.subscribe(SELECT)
    fake.start()
    subscriber.subscribe(SELECT)

    subscriber.close()


def test_without_reconnection_a_lost_connection_ends_everything(fake, heard):
    """By on_error; a later subscribe begins anew."""
    settings = ClientSettings(timeout_s=5, reconnect=False)
    with Subscriber(fake.ws, settings=settings) as subscriber:
        live = subscriber.subscribe(SELECT, on_error=heard.on_error)
        thread = subscriber._thread
        fake.drop()

        assert isinstance(heard.next()[1], ConnectionLost)
        assert live.state is State.ENDED
        thread.join(5)
        subscriber.subscribe(SELECT)
        assert fake.subscriptions == 1


def test_closing_ends_the_thread_and_the_connection(fake):
    """Also while it waits to connect again."""
    subscriber = Subscriber(fake.ws, settings=ClientSettings(timeout_s=5, backoff_first_s=30))
    lost = threading.Event()
    subscriber._watcher = type(subscriber._watcher)(lambda _: lost.set())
    subscriber.subscribe(SELECT)
    fake.drop()
    assert lost.wait(5)

    subscriber.close()
    subscriber.close()

    assert not subscriber._thread.is_alive()
    with pytest.raises(ConnectionLost, match="closed"):
        subscriber.subscribe(SELECT)


def test_a_callback_may_close(fake):
    """It does not wait for itself."""
    subscriber = Subscriber(fake.ws, settings=QUICK)

    subscriber.subscribe(SELECT, on_first_results=lambda _: subscriber.close())

    subscriber._thread.join(5)
    assert not subscriber._thread.is_alive()


def test_closing_lets_go_whoever_waits(fake):
    """With an error."""
    fake.silent = True
    subscriber = Subscriber(fake.ws, settings=QUICK).open()
    raised = []

    def wait():
        try:
            subscriber.subscribe(SELECT)
        except ConnectionLost as error:
            raised.append(str(error))

    thread = threading.Thread(target=wait)
    thread.start()
    fake.until(lambda: fake.said)
    subscriber.close()
    thread.join(5)

    assert raised == ["the subscriber was closed"]


def test_threads_may_share_one(fake, subscriber):
    """Each gets its own answer."""
    fake.update(insert(1))
    lives = []

    def many():
        for _ in range(20):
            live = subscriber.subscribe(SELECT)
            lives.append(live.answer)
            subscriber.unsubscribe(live)

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert lives == [ns(1)] * 80
    assert fake.subscriptions == 0


def test_the_token_goes_into_each_message(fake):
    """Where SEPA's clients put it."""
    with Subscriber(fake.ws, settings=QUICK, authorization=lambda: "secret") as subscriber:
        subscriber.unsubscribe(subscriber.subscribe(SELECT))

    assert [message.authorization for message in fake.said] == ["secret", "secret"]
