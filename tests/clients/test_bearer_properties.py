"""A session and a model of a secure broker: tokens run out at any time, and the connection breaks anywhere."""

from collections import Counter, deque

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pyoxigraph import Literal

from triplewire.broker.errors import ConnectionLost
from triplewire.broker.model import Bindings, BindingsDelta, Failure, Notification, Query, Unsubscribed
from triplewire.broker.wire.subscribe import (
    Renewed,
    RenewMessage,
    SubscribeMessage,
    decode_client,
    encode_broker,
)
from triplewire.clients.authorization import Token
from triplewire.clients.callbacks import Callbacks, Changed, Ended, Failed, FirstResults
from triplewire.clients.live_query import State
from triplewire.clients.session import LEFT, Session

QUERIES = ("one", "two", "three")
bags = st.lists(st.tuples(st.integers(0, 3).map(Literal)), max_size=4).map(Counter)
queries = st.sampled_from(QUERIES)


class Tokens:
    """Gives numbered tokens; `stale` where the clock says that the last one has ended."""

    def __init__(self):
        self.number = 0
        self.stale = True

    def known(self, refused=None):
        text = f"token {self.number}"
        return None if self.stale or text == refused else Token(text)

    def fetch(self, refused):
        known = self.known(refused)
        if known is None:
            self.number += 1
            self.stale = False
            known = Token(f"token {self.number}")
        return known


class SecureBroker:
    """Holds subscriptions back (`mutes`) when their token has run out, and may know renewals."""

    def __init__(self, *, mutes, renews):
        self.mutes, self.renews = mutes, renews
        self.answers = {query: Counter() for query in QUERIES}
        self.held = {}  # by spuid: query, alias, the answer that was told last, the number
        self.muted = False
        self.good = 1  # tokens from this number on are good
        self.to_client = deque()
        self.made = 0
        self.stuck = 0  # goodbyes that were refused, and are not said again

    def tell(self, message):
        self.to_client.append(encode_broker(message))

    def hear(self, text):
        try:
            message = decode_client(text)
        except ValueError:
            message = None
        if message is None or (isinstance(message, RenewMessage) and not self.renews):
            self.tell(Failure("unsupported", 400, "what?"))
        elif int(message.authorization.split()[1]) < self.good:
            self.stuck += message.alias == LEFT
            self.tell(Failure("invalid_grant", 401, "no", message.alias))
        else:
            self.take(message)

    def take(self, message):
        if isinstance(message, SubscribeMessage):
            self.begin_anew(message)
        self.release()
        if isinstance(message, SubscribeMessage):
            self.made += 1
            spuid, query = f"spuid:{self.made}", message.query.sparql
            now = self.answers[query]
            self.held[spuid] = [query, message.alias, now, 0]
            self.tell(
                Notification(
                    spuid, message.alias, 0, BindingsDelta.first(Bindings(("x",), tuple(now.elements())))
                )
            )
        elif isinstance(message, RenewMessage):
            self.tell(Renewed(5, message.alias))
        elif self.held.pop(message.spuid, None) is None:
            self.tell(Failure("sid_not_found", 500, "no such", message.alias))
        else:
            self.tell(Unsubscribed(message.spuid))

    def begin_anew(self, message):
        if self.muted:
            for spuid, (query, alias, *_) in tuple(self.held.items()):
                if (query, alias) == (message.query.sparql, message.alias):
                    del self.held[spuid]

    def release(self):
        self.muted = False
        for spuid in self.held:
            self.change(spuid)

    def change(self, spuid):
        query, _, told, number = place = self.held[spuid]
        delta = BindingsDelta.between(("x",), told, self.answers[query])
        if delta and not self.muted:
            place[2:] = self.answers[query], number + 1
            self.tell(Notification(spuid, None, number + 1, delta))

    def update(self, query, after):
        self.answers[query] = after
        for spuid, place in self.held.items():
            if place[0] == query:
                self.change(spuid)

    def run_out(self, number):
        self.good = number + 1
        if self.mutes and self.held and not self.muted:
            self.muted = True
            for spuid, (_, alias, *_) in self.held.items():
                self.tell(Failure("invalid_grant", 401, "run out", alias, spuid))

    def let_go(self):
        for spuid, (_, alias, *_) in self.held.items():
            self.tell(Failure("subscription_failed", 401, "not renewed in time", alias, spuid))
        self.held.clear()
        self.muted = False


class Hearer:
    """What a user knows from the events alone."""

    def __init__(self):
        self.first = 0
        self.rows = Counter()
        self.ended = False

    def hear(self, event):
        assert not self.ended
        match event:
            case FirstResults(_, notification):
                self.first += 1
                self.rows = notification.delta.added.copy()
            case Changed(_, notification):
                assert self.first == 1
                assert notification.delta
                assert notification.delta.removed <= self.rows
                self.rows = notification.delta.apply(self.rows)
            case Failed(_, error):
                raise AssertionError(error)
            case Ended():
                self.ended = True


class Renewals(RuleBasedStateMachine):
    """What the events add up to is the broker's present answer, and nobody's live query fails."""

    @initialize(window=st.integers(1, 3), kind=st.sampled_from(["ours", "ours", "lax", "SEPA"]))
    def begin(self, window, kind):
        self.tokens = Tokens()
        self.broker = SecureBroker(mutes=kind == "ours", renews=kind != "SEPA")
        self.session = Session(window=window, authorization=self.tokens)
        self.to_broker = deque()
        self.hearers = {}
        self.leaving = set()
        self.connect()
        for query in QUERIES:
            self.subscribe(query, None)
        self.carry_everything()

    def take(self, events):
        for event in events:
            self.hearers[event.live].hear(event)
        self.to_broker.extend(self.session.outgoing())

    @rule(query=queries, alias=st.sampled_from([None, "a", "b"]))
    def subscribe(self, query, alias):
        live = self.session.subscribe(Query(query), alias, Callbacks())
        self.hearers[live] = Hearer()
        self.take([])

    @precondition(lambda self: self.hearers)
    @rule(data=st.data())
    def unsubscribe(self, data):
        live = data.draw(st.sampled_from(list(self.hearers)))
        self.leaving.add(live)
        self.take(self.session.unsubscribe(live))

    @rule(query=queries, after=bags)
    def update(self, query, after):
        self.broker.update(query, after)

    def settled(self):
        """No message is under way with an old token: what is refused twice in a row is given up."""
        present = f"Bearer token {self.tokens.number}"
        return (
            not self.session._retried
            and not self.session._bearer._refusals
            and all(present in text for text in self.to_broker)
            and not any('"status_code": 401' in text for text in self.broker.to_client)
        )

    @precondition(lambda self: self.settled())
    @rule(clocks_agree=st.booleans())
    def run_out(self, clocks_agree):
        """The broker says so; our clock may say the same, or know nothing of it."""
        self.broker.run_out(self.tokens.number)
        self.tokens.stale = self.tokens.stale or clocks_agree

    @precondition(lambda self: self.session.connected)
    @rule(clocks_agree=st.booleans(), query=queries, after=bags, too_long=st.booleans())
    def run_out_unnoticed(self, clocks_agree, query, after, too_long):
        """The token ends while nothing is under way, something happens, and the broker may not wait for ever."""
        self.carry_everything()
        self.run_out(clocks_agree)
        self.broker.update(query, after)
        if too_long and self.broker.muted:
            self.broker.let_go()

    @precondition(lambda self: self.broker.muted)
    @rule()
    def wait_too_long(self):
        self.broker.let_go()

    @precondition(lambda self: self.session.connected)
    @rule()
    def end_soon(self):
        """The token is renewed before its end."""
        self.tokens.stale = True
        self.session.want_token()

    @precondition(lambda self: self.session.token_wanted)
    @rule()
    def fetch(self):
        self.take(self.session.authorized(self.tokens.fetch(self.session.refused_token)))

    @precondition(lambda self: self.session.renewing)
    @rule()
    def not_be_answered_in_time(self):
        self.session.renew_unanswered()
        self.take([])

    @precondition(lambda self: not self.session.connected)
    @rule()
    def connect(self):
        self.session.opened()
        self.take([])

    @precondition(lambda self: self.session.connected)
    @rule(really=st.sampled_from([True, False, False]))
    def disconnect(self, really):
        if not really:
            return
        self.broker.held.clear()
        self.broker.muted = False
        self.broker.to_client.clear()
        self.to_broker.clear()
        self.take(self.session.lost(ConnectionLost("gone")))

    @precondition(lambda self: self.session.connected and self.to_broker)
    @rule()
    def carry_one_to_the_broker(self):
        self.broker.hear(self.to_broker.popleft())

    @precondition(lambda self: self.session.connected and self.broker.to_client)
    @rule()
    def carry_one_to_the_client(self):
        self.take(self.session.received(self.broker.to_client.popleft()))

    @precondition(lambda self: self.session.connected)
    @rule()
    def carry_everything(self):
        for _ in range(200):
            while self.to_broker:
                self.carry_one_to_the_broker()
            while self.broker.to_client:
                self.carry_one_to_the_client()
            if self.session.token_wanted:
                self.fetch()
            elif not self.to_broker and not self.broker.to_client:
                break
        assert not self.session.token_wanted
        assert not self.session.renewing
        self.compare()

    def compare(self):
        """Every message has arrived: users know what the broker knows."""
        for live, hearer in self.hearers.items():
            assert hearer.ended == (live in self.leaving) == (live.state is State.ENDED)
            if not hearer.ended:
                assert live.state is State.LIVE
                assert hearer.rows == self.broker.answers[live.query.sparql]
        surplus = len(self.broker.held) - sum(live.state is State.LIVE for live in self.hearers)
        assert 0 <= surplus <= self.broker.stuck

    @invariant()
    def the_session_and_its_user_agree(self):
        for live, hearer in getattr(self, "hearers", {}).items():
            assert hearer.first <= 1
            if live.state is State.LIVE:
                assert live.kept.rows == hearer.rows

    def teardown(self):
        if hasattr(self, "session"):
            if not self.session.connected:
                self.connect()
            self.carry_everything()


TestRenewals = Renewals.TestCase
TestRenewals.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
