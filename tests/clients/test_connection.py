"""The connection's life, driven by hand: no socket, no clock, no thread."""

from collections import Counter
from random import Random

import pytest
from pyoxigraph import Literal

from triplewire.broker.errors import BrokerRefused, ConnectionLost
from triplewire.broker.model import Bindings, BindingsDelta, Failure, Notification, Query
from triplewire.broker.wire.subscribe import Renewed, RenewMessage, decode_client, encode_broker
from triplewire.clients.authorization import Authorize, Token
from triplewire.clients.backoff import Backoff
from triplewire.clients.bearer import RENEW
from triplewire.clients.callbacks import Callbacks
from triplewire.clients.connection import Connect, Hang, Invoke, Pause, Receive, Send, Watcher, connection
from triplewire.clients.session import Session
from triplewire.clients.settings import ClientSettings

ONE, TWO = (Literal(1),), (Literal(2),)
LOST = ConnectionLost("gone")


class Driver:
    """Calls callbacks, keeps what is said, and stops at each step that is for a test to decide."""

    def __init__(self, **options):
        self.session = Session(**options)
        self.heard, self.said, self.now = [], [], 0.0
        watcher = Watcher(
            lambda error: self.heard.append(("disconnect", error)),
            lambda _: self.heard.append(("reconnect", None)),
        )
        backoff = Backoff(Random(1), ClientSettings())
        self.steps = connection(self.session, backoff, watcher, lambda: self.now)

    def subscribe(self, **callbacks):
        return self.session.subscribe(Query("SELECT"), "mine", Callbacks(**callbacks))

    def start(self):
        return self.send(None)

    def send(self, value):
        return self._settle(self.steps.send(value))

    def throw(self, error):
        return self._settle(self.steps.throw(error))

    def _settle(self, step):
        while isinstance(step, Send | Hang | Invoke):
            if isinstance(step, Send):
                self.said.append(decode_client(step.text))
            if isinstance(step, Invoke):
                try:
                    step.function(step.argument)
                except (ZeroDivisionError, ConnectionLost) as error:
                    step = self.steps.throw(error)
                    continue
            step = self.steps.send(None)
        return step


def first(spuid="spuid:1", *rows):
    return encode_broker(Notification(spuid, "mine", 0, BindingsDelta.first(Bindings(("x",), rows))))


def changed(sequence, added=(), removed=(), spuid="spuid:1"):
    return encode_broker(
        Notification(spuid, None, sequence, BindingsDelta(("x",), Counter(added), Counter(removed)))
    )


def test_it_says_what_there_is_to_say_and_listens():
    """For as long as it takes."""
    driver = Driver()
    driver.subscribe()

    assert driver.start() == Receive(None)
    assert [message.alias for message in driver.said] == ["mine"]


def test_callbacks_are_called_in_the_order_of_the_messages():
    """One at a time."""
    driver = Driver()
    driver.subscribe(
        on_first_results=lambda rows: driver.heard.append(("first", rows)),
        on_added=lambda rows: driver.heard.append(("added", rows)),
    )
    driver.start()

    driver.send(first("spuid:1", ONE))
    driver.send(changed(1, [TWO]))

    assert driver.heard == [("first", [{"x": Literal(1)}]), ("added", [{"x": Literal(2)}])]


def test_a_lost_connection_is_opened_again_after_a_wait():
    """And again, ever later, until it is there."""
    driver = Driver()
    driver.subscribe()
    driver.start()
    driver.send(first())

    pauses = [driver.throw(LOST)]
    for _ in range(8):
        assert driver.send(None) == Connect()
        pauses.append(driver.throw(ConnectionLost("still away")))
    driver.send(None)
    step = driver.send(None)

    waits = [pause.seconds for pause in pauses]
    assert all(0.1 <= wait <= 30 for wait in waits)
    assert waits[-1] > 10 * waits[0]
    assert step == Receive(None)
    assert len(driver.said) == 2
    assert driver.heard == [("disconnect", LOST), ("reconnect", None)]


def test_only_the_difference_is_called_after_it():
    """Never first results again."""
    driver = Driver()
    driver.subscribe(
        on_first_results=lambda rows: driver.heard.append(("first", rows)),
        on_added=lambda rows: driver.heard.append(("added", rows)),
        on_removed=lambda rows: driver.heard.append(("removed", rows)),
    )
    driver.start()
    driver.send(first("spuid:1", ONE))
    driver.throw(LOST)
    driver.send(None)
    driver.send(None)
    driver.heard.clear()

    driver.send(first("spuid:2", TWO))

    assert driver.heard == [("added", [{"x": Literal(2)}]), ("removed", [{"x": Literal(1)}])]


def test_a_broker_that_accepts_only_to_drop_us_is_asked_ever_later():
    """Only a connection that lasted makes the waits short again."""
    driver = Driver()
    driver.start()
    waits = []
    for lasted in [0.0] * 9 + [60.0, 0.0]:
        driver.now += lasted
        waits.append(driver.throw(LOST).seconds)
        driver.send(None)
        assert driver.send(None) == Receive(None)

    assert max(waits[:9]) > 5
    assert waits[9] <= 0.2


def test_a_message_that_makes_no_sense_begins_a_new_connection():
    """What we know can't be trusted after it."""
    driver = Driver()
    driver.subscribe()
    driver.start()

    assert isinstance(driver.send("{}"), Pause)
    ((name, error),) = driver.heard
    assert name == "disconnect"
    assert "not known" in str(error)


def test_a_token_that_can_not_be_had_begins_a_new_connection():
    """Until there is one."""
    answers = iter([BrokerRefused("unauthorized_client", 401, "no"), "token"])

    def authorization():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    driver = Driver(authorization=authorization)
    driver.subscribe()

    assert isinstance(driver.start(), Pause)
    driver.send(None)
    driver.send(None)
    assert [message.authorization for message in driver.said] == ["token"]


def test_an_exception_in_a_callback_goes_to_on_error(caplog):
    """And into the log; the next message is told as ever."""
    driver = Driver()

    def fail(rows):
        raise ZeroDivisionError("my own fault")

    driver.subscribe(on_added=fail, on_error=driver.heard.append, on_removed=driver.heard.append)
    driver.start()
    driver.send(first())

    step = driver.send(changed(1, [ONE], [TWO]))

    error, rows = driver.heard
    assert isinstance(error, ZeroDivisionError)
    assert rows == [{"x": Literal(2)}]
    assert step == Receive(None)
    assert "my own fault" in caplog.text


def test_an_exception_in_on_error_goes_no_further(caplog):
    """The log has both."""
    driver = Driver()

    def fail(argument):
        raise ZeroDivisionError(f"about {type(argument).__name__}")

    driver.subscribe(on_added=fail, on_error=fail)
    driver.start()
    driver.send(first())

    assert driver.send(changed(1, [ONE])) == Receive(None)
    assert "about list" in caplog.text
    assert "about ZeroDivisionError" in caplog.text


def test_an_error_of_ours_in_a_callback_does_not_end_the_connection():
    """As when a callback makes an update that is refused."""
    driver = Driver()

    def fail(_):
        raise ConnectionLost("another broker is away")

    driver.subscribe(on_first_results=fail, on_error=driver.heard.append)
    driver.start()

    assert driver.send(first()) == Receive(None)
    assert [str(error) for error in driver.heard] == ["another broker is away"]


def test_an_exception_in_a_watcher_goes_no_further():
    """The connection is opened again all the same."""
    driver = Driver()
    steps = connection(
        driver.session,
        Backoff(Random(1), ClientSettings()),
        Watcher(lambda _: 1 / 0, lambda _: 1 / 0),
        lambda: 0.0,
    )
    driver.steps = steps
    driver.start()

    assert isinstance(driver.throw(LOST), Pause)
    driver.send(None)
    assert driver.send(None) == Receive(None)


def test_what_a_busy_broker_refuses_is_asked_for_again_after_a_wait():
    """While other messages go on to be told."""
    driver = Driver()
    driver.subscribe(on_added=driver.heard.append)
    driver.start()
    driver.send(first())
    driver.throw(LOST)
    driver.send(None)
    driver.send(None)
    busy = encode_broker(Failure("too_many_requests", 500, "later", "mine"))

    wait = driver.send(busy)
    driver.now += wait.within_s / 2
    shorter = driver.send(encode_broker(Failure("odd", 500, "for nobody", "nobody")))
    asked = len(driver.said)
    after = driver.send(None)

    assert 0.1 <= wait.within_s <= 30
    assert shorter.within_s == pytest.approx(wait.within_s / 2)
    assert (asked, len(driver.said)) == (2, 3)
    assert after == Receive(None)


def test_without_reconnection_the_end_is_told_and_is_the_end():
    """By on_error."""
    driver = Driver(reconnect=False)
    driver.subscribe(on_error=driver.heard.append)
    driver.start()
    driver.send(first())

    with pytest.raises(StopIteration):
        driver.throw(LOST)

    assert driver.heard == [("disconnect", LOST), LOST]


class Tokens:
    """A source whose fetching is a step for the test."""

    def __init__(self, token=None):
        self.held = token

    def known(self, refused=None):
        return self.held if self.held is not None and self.held.text != refused else None

    def bring(self, text, renew_at=100.0):
        self.held = Token(text, renew_at, renew_at + 5)
        return self.held


def expired(alias="mine", spuid="spuid:1", code="invalid_grant"):
    return encode_broker(Failure(code, 401, "run out", alias, spuid))


@pytest.fixture
def tokens():
    return Tokens()


@pytest.fixture
def driver(tokens):
    """A driver with a live query under the token "one", which should be followed by another at 100."""
    driver = Driver(authorization=tokens)
    driver.subscribe(
        on_added=lambda rows: driver.heard.append(("added", rows)),
        on_error=lambda error: driver.heard.append(("error", error)),
    )
    assert driver.start() == Authorize(tokens, None)
    driver.send(tokens.bring("one"))
    driver.step = driver.send(first())
    return driver


def test_a_token_is_fetched_before_the_first_subscribe(driver):
    """And followed by another before its end."""
    assert [(message.alias, message.authorization) for message in driver.said] == [("mine", "one")]
    assert driver.step == Receive(100.0)


def test_a_token_that_ends_is_followed_by_another_on_the_same_connection(driver, tokens):
    """The broker is told by a renew, and nobody else hears of it."""
    tokens.held, driver.now = None, 100.0
    assert driver.send(None) == Authorize(tokens, None)

    step = driver.send(tokens.bring("two", 200.0))

    assert driver.said[1:] == [RenewMessage("two", RENEW)]
    assert step == Receive(10.0)
    assert driver.send(encode_broker(Renewed(100, RENEW))) == Receive(100.0)
    driver.send(changed(1, [TWO]))
    assert driver.heard == [("added", [{"x": Literal(2)}])]


def test_a_broker_that_never_pauses_does_not_make_us_forget_the_time(driver, tokens):
    """What comes is taken in first."""
    tokens.held, driver.now = None, 101.0

    assert driver.send(changed(1, [TWO])) == Authorize(tokens, None)
    assert driver.heard == [("added", [{"x": Literal(2)}])]


def test_a_token_that_somebody_else_renewed_is_told_without_fetching(driver, tokens):
    """One that shares the credentials."""
    tokens.bring("two", 200.0)
    driver.now = 100.0

    assert driver.send(None) == Receive(10.0)
    assert driver.said[1:] == [RenewMessage("two", RENEW)]


def test_a_subscription_that_is_held_back_goes_on_with_a_new_token(driver, tokens):
    """With what it missed; nothing else is told."""
    tokens.held = None
    assert driver.send(expired()) == Authorize(tokens, None)
    driver.send(tokens.bring("two"))
    driver.send(encode_broker(Renewed(100, RENEW)))
    driver.send(changed(1, [ONE, TWO]))

    assert [type(message).__name__ for message in driver.said] == ["SubscribeMessage", "RenewMessage"]
    assert driver.heard == [("added", [{"x": Literal(1)}, {"x": Literal(2)}])]


def test_a_subscription_can_be_held_back_again_and_again(driver, tokens):
    """Each time it is renewed, and not asked for anew, even where it missed nothing."""
    for text in ("two", "three", "four"):
        tokens.held = None
        assert driver.send(expired()) == Authorize(tokens, None)
        driver.send(tokens.bring(text))
        driver.send(encode_broker(Renewed(100, RENEW)))

    assert driver.said[1:] == [RenewMessage(text, RENEW) for text in ("two", "three", "four")]
    assert driver.heard == []


def test_an_answer_that_comes_too_late_is_nobodys(driver, tokens):
    """Even where one subscribe waits, and the answer has no name on it."""
    tokens.held, driver.now = None, 100.0
    driver.send(None)
    driver.send(tokens.bring("two", 200.0))
    driver.send(None)

    driver.send(encode_broker(Failure("unsupported", 400, "what?")))
    driver.send(first("spuid:2", TWO))

    assert driver.heard == [("added", [{"x": Literal(2)}])]


def test_a_subscription_that_the_broker_let_go_is_asked_for_again(driver, tokens):
    """And the difference to what was known is told."""
    driver.send(changed(1, [ONE]))
    tokens.held = None
    driver.send(expired())
    assert isinstance(driver.throw(ConnectionLost("no token server")), Receive)
    driver.send(expired(code="subscription_failed"))
    assert driver.send(None) == Authorize(tokens, None)
    driver.send(tokens.bring("two"))

    assert driver.said[-1].authorization == "two"
    assert driver.said[-1].query == Query("SELECT")
    driver.send(first("spuid:2", ONE, TWO))
    assert driver.heard == [("added", [{"x": Literal(1)}]), ("added", [{"x": Literal(2)}])]


@pytest.mark.parametrize("answered", [True, False])
def test_a_broker_that_does_not_know_renewals_is_asked_again_for_everything(driver, tokens, answered):
    """Whether it says so or nothing at all; users hear the difference only."""
    tokens.held, driver.now = None, 100.0
    driver.send(None)
    driver.send(tokens.bring("two", 200.0))
    driver.send(encode_broker(Failure("unsupported", 400, "what?")) if answered else None)

    _, _, again, goodbye = driver.said
    assert (again.query, again.alias, again.authorization) == (Query("SELECT"), "mine", "two")
    assert (goodbye.spuid, goodbye.authorization) == ("spuid:1", "two")
    driver.send(changed(1, [ONE]))
    assert driver.send(first("spuid:2", ONE)) == Receive(100.0)
    assert driver.heard == [("added", [{"x": Literal(1)}])]
    tokens.held, driver.now = None, 200.0
    driver.send(None)
    driver.send(tokens.bring("three", 300.0))
    assert driver.said[-1].spuid == "spuid:2"


def test_a_subscribe_that_is_refused_for_its_token_is_repeated_with_another(tokens):
    """Once."""
    driver = Driver(authorization=tokens)
    tokens.bring("one")
    driver.subscribe(on_error=driver.heard.append)
    driver.start()

    assert driver.send(expired(spuid=None)) == Authorize(tokens, "one")
    driver.send(tokens.bring("two"))
    assert [message.authorization for message in driver.said] == ["one", "two"]
    driver.send(expired(spuid=None))

    (error,) = driver.heard
    assert (error.code, error.status) == ("invalid_grant", 401)


def test_the_same_token_again_is_not_sent(tokens):
    """The broker's own words are told."""
    driver = Driver(authorization=lambda: "only")
    driver.subscribe(on_error=driver.heard.append)
    driver.start()
    driver.send(expired(spuid=None))

    assert [message.authorization for message in driver.said] == ["only"]
    assert str(driver.heard[0]).startswith("run out")


def test_a_token_server_that_is_away_is_tried_again_while_the_connection_lives(driver, tokens):
    """What comes meanwhile is told."""
    tokens.held, driver.now = None, 100.0
    driver.send(None)
    wait = driver.throw(ConnectionLost("away"))
    assert 0.1 <= wait.within_s <= 30
    driver.send(changed(1, [TWO]))
    assert driver.heard == [("added", [{"x": Literal(2)}])]

    assert driver.send(None) == Authorize(tokens, None)
    driver.throw(BrokerRefused("overloaded", 503, "later"))
    assert driver.send(None) == Authorize(tokens, None)
    driver.send(tokens.bring("two", 200.0))

    assert driver.said[1:] == [RenewMessage("two", RENEW)]


def test_a_client_that_is_given_no_token_any_more_is_told_so(driver, tokens):
    """Its live queries end by that; the connection stays for others."""
    tokens.held, driver.now = None, 100.0
    driver.send(None)
    refusal = BrokerRefused("invalid_client", 401, "revoked")

    assert driver.throw(refusal) == Receive(None)
    assert driver.heard == [("error", refusal)]


def test_a_renewal_that_is_refused_is_given_up_in_the_end(driver, tokens):
    """After three tokens."""
    tokens.held, driver.now = None, 100.0
    driver.send(None)
    for number in range(3):
        step = driver.send(tokens.bring(f"token {number}"))
        assert isinstance(step, Receive)
        step = driver.send(encode_broker(Failure("invalid_grant", 401, "no", RENEW)))
        if number < 2:
            assert step == Authorize(tokens, f"token {number}")

    ((name, error),) = driver.heard
    assert (name, error.status) == ("error", 401)


def test_after_a_lost_connection_the_present_token_is_told(driver, tokens):
    """Fetched where it has run out meanwhile."""
    tokens.held = None
    driver.throw(LOST)
    driver.send(None)
    assert driver.send(None) == Authorize(tokens, None)
    driver.send(tokens.bring("two"))

    assert driver.said[-1].authorization == "two"
    assert driver.said[-1].resume is not None


def test_no_log_has_a_token(driver, tokens, caplog):
    """Short messages would show it."""
    caplog.set_level("DEBUG", "triplewire.clients")
    driver.subscribe()
    tokens.held, driver.now = None, 100.0
    driver.send(changed(1, [TWO]))
    driver.send(tokens.bring("t0ken"))

    assert "renew" in caplog.text
    assert "t0ken" not in caplog.text + repr(Send("t0ken"))
