"""The same for clients whose tokens run out: nothing leaves then, and later it still adds up."""

from __future__ import annotations

from gates.test_outbox_properties import OutboxMachine, names, plain
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from triplewire.broker.model import Failure, Notification
from triplewire.gates.withholding import WithholdingOutbox


class WithholdingMachine(OutboxMachine):
    """Any of the subscriptions can be withheld, several at once."""

    make = WithholdingOutbox

    def open(self):
        super().open()
        self.withheld = set()

    async def send(self, batch):
        """What has been withheld is never handed to a connection."""
        leaving = {message.spuid[0] for message, _ in batch if isinstance(message, Notification)}
        assert not leaving & self.withheld
        await super().send(batch)

    @precondition(lambda self: self.away is None)
    @rule(names=st.sets(names | plain, min_size=1))
    def token_runs_out(self, names):
        fresh = names - self.withheld
        self.withheld |= fresh
        spuids = [self.spuid(name) for name in fresh]
        self.outbox.withhold({spuid: Failure("invalid_grant", 401, "no", spuid=spuid) for spuid in spuids})

    @precondition(lambda self: self.away is None)
    @rule()
    def token_comes(self):
        self.outbox.release([self.spuid(name) for name in self.withheld])
        self.withheld.clear()

    @precondition(lambda self: self.away is None)
    @rule(name=names | plain)
    def starts_anew(self, name):
        """By the token that lets it go on."""
        self.withheld.discard(name)
        self.outbox.release([self.spuid(name)])
        super().starts_anew(name)

    def read_all(self):
        if self.away is None:
            self.token_comes()
        super().read_all()


TestWithholding = WithholdingMachine.TestCase
TestWithholding.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
