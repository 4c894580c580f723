"""Any updates, slow readers and cuts: what a client has heard adds up to the answer, and its numbers rise by one."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from pyoxigraph import Literal

from triplewire.broker.config import LimitsConfig
from triplewire.broker.model import BindingsDelta, Notification, Unsubscribed
from triplewire.broker.wire.results import decode_delta
from triplewire.gates.outbox import Outbox

VARS = ("x", "y")
terms = st.none() | st.integers(0, 2).map(Literal)
bags = st.lists(st.tuples(terms, terms), max_size=5).map(Counter)
names = st.sampled_from(["a", "b"])
plain = st.sampled_from(["c", "d"])


class Client:
    """What one subscription has heard."""

    def __init__(self, alias):
        self.alias = alias
        self.sequence = None
        self.rows = Counter()

    def hear(self, told):
        delta = decode_delta(told)
        assert told["alias"] == self.alias
        assert not delta.added & delta.removed
        if self.sequence is None:
            assert told["sequence"] == 0
        else:
            assert told["sequence"] == self.sequence + 1
        assert delta.removed <= self.rows
        self.sequence = told["sequence"]
        self.rows = delta.apply(self.rows)


class OutboxMachine(RuleBasedStateMachine):
    """Two resumable subscriptions and two that are not, over connections that are slow and break."""

    make = Outbox

    @initialize(
        messages=st.integers(1, 4),
        resume_messages=st.integers(0, 6),
        resume_rows=st.sampled_from([3, 100]),
    )
    def begin(self, messages, resume_messages, resume_rows):
        self.loop = asyncio.new_event_loop()
        self.limits = LimitsConfig(
            outbox_messages=messages, resume_messages=resume_messages, resume_rows=resume_rows
        )
        self.answers = {name: Counter() for name in "abcd"}
        self.core_sequence = dict.fromkeys("abcd", 0)
        self.generation = 0
        self.open()
        for name in "abcd":
            self.subscribe(name)

    def open(self):
        self.outbox = self.make(self.limits)
        self.wire = []  # what left and has not been read
        self.held = []  # batches that are being sent
        self.room = 0
        self.away = None
        self.clients = dict(getattr(self, "clients", {}))
        self.running = self.loop.create_task(self.outbox.run(self.send))

    async def send(self, batch):
        while self.room <= 0:  # noqa: ASYNC110 - turned step by step
            await asyncio.sleep(0)
        self.room -= 1
        self.wire.extend(text for _, text in batch)

    def turn(self, times=12):
        async def turns():
            for _ in range(times):
                await asyncio.sleep(0)

        self.loop.run_until_complete(turns())

    def spuid(self, name):
        return f"{name}{self.generation}"

    def subscribe(self, name):
        self.core_sequence[name] = 0
        self.clients[name] = Client(f"{name} {self.generation}")
        rows = self.answers[name]
        first = Notification(
            self.spuid(name), f"{name} {self.generation}", 0, BindingsDelta(VARS, rows.copy(), Counter())
        )
        (self.outbox.begin if name in "ab" else self.outbox.put)(first)

    def put(self, name, delta):
        self.core_sequence[name] += 1
        self.outbox.put(
            Notification(self.spuid(name), f"{name} {self.generation}", self.core_sequence[name], delta)
        )

    @rule(name=names | plain, after=bags)
    def update(self, name, after):
        delta = BindingsDelta.between(VARS, self.answers[name], after)
        self.answers[name] = after
        if delta and (self.away is None or name in self.away):
            self.put(name, delta)

    @precondition(lambda self: self.away is None)
    @rule()
    def socket_takes_one(self):
        self.room = 1
        self.turn()

    @precondition(lambda self: self.away is None)
    @rule()
    def socket_takes_all(self):
        self.room = 1000
        self.turn(60)
        self.room = 0

    @precondition(lambda self: self.away is None and self.wire)
    @rule(count=st.integers(1, 5))
    def client_reads(self, count):
        read, self.wire = self.wire[:count], self.wire[count:]
        for text in read:
            self.hear(json.loads(text))

    def hear(self, message):
        if "notification" in message:
            told = message["notification"]
            self.clients[told["spuid"][0]].hear(told)

    @precondition(lambda self: self.away is None)
    @rule()
    def is_cut(self):
        """Whatever the client has not read is gone."""
        self.running.cancel()
        self.turn(2)
        kept = self.outbox.lose()
        self.away = {spuid[0] for spuid in kept}
        assert not self.away & {"c", "d"}

    @precondition(lambda self: self.away is not None)
    @rule()
    def comes_back(self):
        before, kept = self.outbox, self.away
        was = self.generation
        self.open()
        back = []
        for name in "ab":
            client, spuid = self.clients[name], f"{name}{was}"
            if name in kept and client.sequence is not None and before.reaches(spuid, client.sequence):
                back.append((name, before.hand_over(spuid, client.sequence)))
        resumed = {name for name, _ in back}
        self.generation += 1
        for name in "abcd":
            if name not in resumed:
                self.subscribe(name)
        for name, change in back:
            client = self.clients[name]
            client.alias = f"{name} {self.generation}"
            self.outbox.begin(Notification(self.spuid(name), client.alias, client.sequence + 1, change))

    @precondition(lambda self: self.away is None)
    @rule(name=names | plain)
    def starts_anew(self, name):
        """Unsubscribed, read to the end, and subscribed again."""
        self.outbox.put(Unsubscribed(self.spuid(name)))
        self.read_all()
        self.subscribe(name)

    def read_all(self):
        for _ in range(100):
            self.room = 1000
            self.turn()
            self.room = 0
            if not len(self.outbox) and not self.wire:
                break
            read, self.wire = self.wire, []
            for text in read:
                self.hear(json.loads(text))
        for name, client in self.clients.items():
            assert client.rows == self.answers[name]
            assert client.sequence is not None

    def teardown(self):
        if hasattr(self, "loop"):
            if self.away is not None:
                self.comes_back()
            self.read_all()
            assert self.outbox._bytes == 0
            self.running.cancel()
            self.turn(2)
            self.loop.close()


TestOutbox = OutboxMachine.TestCase
TestOutbox.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
