"""A session and a model of a broker, face to face over the real codec, with a connection that breaks anywhere."""

from collections import Counter, deque

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pyoxigraph import BlankNode, Literal

from triplewire.broker.errors import ConnectionLost
from triplewire.broker.model import Bindings, BindingsDelta, Failure, Notification, Query, Unsubscribed
from triplewire.broker.wire.subscribe import SubscribeMessage, decode_client, encode_broker
from triplewire.clients.callbacks import Callbacks, Changed, Ended, Failed, FirstResults
from triplewire.clients.live_query import State
from triplewire.clients.session import Session

QUERIES = ("one", "two", "three")
terms = st.one_of(st.none(), st.integers(0, 2).map(Literal), st.sampled_from("ab").map(BlankNode))
bags = st.lists(st.tuples(terms, terms), max_size=5).map(Counter)
queries = st.sampled_from(QUERIES)


class ModelBroker:
    """The answers, and one connection's subscriptions; texts wait in two queues until they are carried."""

    def __init__(self):
        self.answers = {query: Counter() for query in QUERIES}
        self.held = {}
        self.lost = {}  # of lost connections: the query, and of each number the answer after it
        self.to_client = deque()
        self.busy = 0
        self.made = 0

    def hear(self, text):
        message = decode_client(text)
        if not isinstance(message, SubscribeMessage):
            self.held.pop(message.spuid)
            self.tell(Unsubscribed(message.spuid))
        elif self.busy:
            self.busy -= 1
            self.tell(Failure("too_many_requests", 500, "later", message.alias))
        elif message.resume is not None and message.resume.spuid in self.lost:
            self.resume(message.resume, message.alias)
        else:
            self.made += 1
            spuid, query = f"spuid:{self.made}", message.query.sparql
            self.held[spuid] = [query, [self.answers[query]]]
            rows = tuple(self.answers[query].elements())
            self.tell(Notification(spuid, message.alias, 0, BindingsDelta.first(Bindings(("x", "y"), rows))))

    def resume(self, resume, alias):
        query, known = self.lost.pop(resume.spuid)
        assert 0 <= resume.sequence < len(known)
        missed = BindingsDelta.between(("x", "y"), known[resume.sequence], self.answers[query])
        self.held[resume.spuid] = [query, [*known[: resume.sequence + 1], self.answers[query]]]
        self.tell(Notification(resume.spuid, alias, resume.sequence + 1, missed))

    def change(self, query, after):
        delta = BindingsDelta.between(("x", "y"), self.answers[query], after)
        self.answers[query] = after
        for spuid, place in self.held.items():
            if place[0] == query and delta:
                place[1].append(after)
                self.tell(Notification(spuid, None, len(place[1]) - 1, delta))

    def tell(self, message):
        self.to_client.append(encode_broker(message))

    def hang_up(self, keeps):
        self.lost = self.held | self.lost if keeps else {}
        self.held = {}
        self.to_client.clear()


class Follower:
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
                delta = notification.delta
                assert self.first == 1, "a change before the first results"
                assert delta, "an empty change"
                assert not delta.added & delta.removed
                assert delta.removed <= self.rows, "rows left that were never there"
                self.rows = delta.apply(self.rows)
            case Ended() | Failed():
                self.ended = True


class Reconnections(RuleBasedStateMachine):
    """Any user, any updates, any losses: what the events add up to is the broker's present answer."""

    @initialize(window=st.integers(1, 3))
    def begin(self, window):
        self.broker = ModelBroker()
        self.session = Session(window=window)
        self.to_broker = deque()
        self.followers = {}
        self.leaving = set()

    def take(self, events):
        for event in events:
            self.followers[event.live].hear(event)
        self.to_broker.extend(self.session.outgoing())

    @rule(query=queries, alias=st.sampled_from([None, "a", "b"]))
    def subscribe(self, query, alias):
        live = self.session.subscribe(Query(query), alias, Callbacks())
        self.followers[live] = Follower()
        self.take([])

    @precondition(lambda self: self.followers)
    @rule(data=st.data())
    def unsubscribe(self, data):
        live = data.draw(st.sampled_from(list(self.followers)))
        self.leaving.add(live)
        self.take(self.session.unsubscribe(live))

    @rule(query=queries, after=bags)
    def update(self, query, after):
        self.broker.change(query, after)

    @rule(times=st.integers(1, 2))
    def be_busy(self, times):
        self.broker.busy = times

    @precondition(lambda self: not self.session.connected)
    @rule()
    def connect(self):
        self.session.opened()
        self.take([])

    @precondition(lambda self: self.session.connected)
    @rule(keeps=st.booleans())
    def disconnect(self, keeps):
        """The broker may keep the subscriptions, or be one that does not know how."""
        self.broker.hang_up(keeps)
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
        for _ in range(100):
            while self.to_broker:
                self.carry_one_to_the_broker()
            while self.broker.to_client:
                self.carry_one_to_the_client()
            if self.session.postponed:
                self.session.ask_again()
                self.take([])
            if not self.to_broker and not self.broker.to_client and not self.session.postponed:
                break
        self.compare()

    def compare(self):
        """Every message has arrived: users know what the broker knows."""
        for live, follower in self.followers.items():
            assert follower.ended == (live.state is State.ENDED)
            if live in self.leaving:
                assert live.state is State.ENDED
            elif not follower.ended:
                assert live.state is State.LIVE
                assert follower.first == 1
                assert follower.rows == self.broker.answers[live.query.sparql]
        assert len(self.broker.held) == sum(live.state is State.LIVE for live in self.followers)

    @invariant()
    def the_session_and_its_user_agree(self):
        """At any time, whatever is still on its way."""
        for live, follower in getattr(self, "followers", {}).items():
            assert follower.first <= 1
            if live.state is State.LIVE:
                assert live.kept.rows == follower.rows

    def teardown(self):
        if hasattr(self, "session") and not self.session.connected:
            self.connect()
        if hasattr(self, "session"):
            self.carry_everything()


TestReconnections = Reconnections.TestCase
TestReconnections.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
