"""Subscriptions and the tokens that they were made with; time is the test's own."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest
from gates.test_outbox import delta_of, notification, step
from support.counting import counting

from triplewire.broker import meters
from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import UnknownSubscription
from triplewire.broker.model import Failure, Notification, Query, Unsubscribed
from triplewire.broker.rights import Access, Rights, Scope
from triplewire.broker.security.authority import Nobody
from triplewire.gates.leases import Leases, outbox_for
from triplewire.gates.outbox import Outbox
from triplewire.gates.withholding import WithholdingOutbox

QUERY, OTHER = Query("SELECT * { ?s ?p ?o }"), Query("ASK {}")
SOME = Rights(read=frozenset({"urn:g"}))


class Judge:
    """An authority that knows what the test lets it know: who is not in it is as good as ever."""

    def __init__(self):
        self.known_by_now = {}
        self.listeners = []

    def still(self, access):
        return self.known_by_now.get(access.jti, access)

    def listen(self, changed):
        self.listeners.append(changed)
        return lambda: self.listeners.remove(changed)

    def change(self, **known_by_now):
        self.known_by_now = known_by_now
        for listener in tuple(self.listeners):
            listener()


class Connection:
    """Leases before an outbox, without a socket or a core."""

    def __init__(self, renew_s=60.0):
        self.now = 1000.0
        self.judge = Judge()
        self.outbox = WithholdingOutbox(LimitsConfig())
        self.ended = []
        self.leases = Leases(self.judge, self.outbox, renew_s, self.ended.extend, self.clock)

    def clock(self):
        return self.now

    def subscribe(self, access, spuid, query=QUERY, alias=None):
        self.leases.begin_anew(access, alias, query)
        self.leases.renew(access)
        self.leases.ask(access, alias, query)
        self.leases.put(Notification(spuid, alias, 0, delta_of(1)))

    def at(self, now):
        self.now = now
        self.outbox.expire()

    async def heard(self):
        """What leaves by now, in short: the spuid with a sequence or the failure's status."""
        left = []
        running = asyncio.create_task(self.outbox.run(left.extend))
        await asyncio.sleep(0.005)
        running.cancel()
        return [
            (message.spuid, message.status if isinstance(message, Failure) else message.sequence)
            for message, _ in left
            if isinstance(message, Notification | Failure)
        ]


def access(expires, client="me", jti="1", **others):
    return Access(client, expires=expires, issuer="here", jti=jti, **others)


@pytest.fixture
async def one():
    connection = Connection()
    yield connection
    connection.leases.close()
    assert connection.judge.listeners == []


async def test_a_token_that_runs_out_is_told_for_each_subscription(one):
    """Code, status, alias and spuid, as SEPA's clients need them; a moment later, for who comes by itself."""
    one.subscribe(access(1010), "a", alias="mine")
    one.subscribe(access(1010), "b", OTHER)
    assert await one.heard() == [("a", 0), ("b", 0)]
    one.at(1009)
    assert await one.heard() == []
    one.at(1010)
    assert await one.heard() == []
    one.at(1011)
    left = []
    one.outbox.finish()
    await one.outbox.run(left.extend)

    assert {(message.spuid, message.alias) for message, _ in left} == {("a", "mine"), ("b", None)}
    assert {(message.code, message.status) for message, _ in left} == {("invalid_grant", 401)}


async def test_any_good_token_of_the_client_renews_all(one):
    """A subscribe, an unsubscribe, a renew; of another client's, none."""
    one.subscribe(access(1010), "a")
    one.subscribe(access(1010), "b", OTHER)
    await one.heard()
    one.at(1010)
    one.leases.put(step(1, "a"))
    assert await one.heard() == [("a", 401)]
    one.at(1011)
    assert await one.heard() == [("b", 401)]
    one.leases.renew(access(1020, client="other"))
    one.leases.renew(replace(access(1020), issuer="elsewhere"))
    assert await one.heard() == []
    one.leases.renew(access(1020, jti="2"))
    one.leases.put(step(1, "b"))

    assert await one.heard() == [("a", 1), ("b", 1)]


async def test_a_token_that_comes_in_time_is_not_noticed(one):
    """Nothing is told; one that is good for less changes nothing."""
    one.subscribe(access(1010), "a")
    await one.heard()
    one.leases.renew(access(1030, jti="2"))
    one.leases.renew(access(1020, jti="3"))
    one.at(1029)
    assert await one.heard() == []
    one.at(1030)
    one.leases.put(step(1, "a"))

    assert await one.heard() == [("a", 401)]


async def test_without_another_token_it_ends(one):
    """Told once more, and the core is told; a token that comes then is too late."""
    one.subscribe(access(1010), "a")
    await one.heard()
    one.at(1010)
    one.at(1069)
    assert one.ended == []
    one.at(1070)
    one.leases.renew(access(2000, jti="2"))
    one.leases.put(step(1, "a"))
    one.leases.put(Unsubscribed("a"))

    assert one.ended == ["a"]
    assert await one.heard() == [("a", 401), ("a", 401)]


async def test_a_client_that_subscribes_again_begins_anew(one):
    """As sepa-js does: the same alias and query end what ran out, also where another's subscribe has renewed it."""
    one.subscribe(access(1010), "a", alias="x")
    one.subscribe(access(1010), "b", alias="y")
    await one.heard()
    one.at(1010)
    one.at(1011)
    one.subscribe(access(1020, jti="2"), "c", alias="x")
    one.subscribe(access(1020, jti="2"), "d", alias="y")
    for spuid in "abcd":
        one.leases.put(step(1, spuid))

    assert one.ended == ["a", "b"]
    assert await one.heard() == [("a", 401), ("b", 401), ("c", 0), ("d", 0), ("c", 1), ("d", 1)]


async def test_a_client_that_comes_by_itself_is_told_nothing(one):
    """It fetches a token when it needs one, and what happened meanwhile is told."""
    one.subscribe(access(1010), "a", alias="x")
    await one.heard()
    one.at(1010)
    one.now = 1010.5
    one.leases.renew(access(1020, jti="2"))
    one.at(1012)
    one.leases.put(step(1, "a"))

    assert one.ended == []
    assert await one.heard() == [("a", 1)]


async def test_a_client_that_renews_knowingly_keeps_what_it_has(one):
    """A like subscribe is one more, then."""
    one.subscribe(access(1010), "a", alias="x")
    one.at(1010)
    one.leases.renew(access(1020, jti="2"), knowingly=True)
    one.subscribe(access(1020, jti="2"), "b", alias="x")

    assert one.ended == []


@pytest.mark.parametrize(("alias", "query"), [("y", QUERY), ("x", OTHER), (None, QUERY)])
async def test_another_subscribe_ends_nothing(one, alias, query):
    """It renews what there is."""
    one.subscribe(access(1010), "a", alias="x")
    one.at(1010)
    one.subscribe(access(1020, jti="2"), "b", query, alias)
    one.leases.put(step(1, "a"))

    assert one.ended == []
    assert ("a", 1) in await one.heard() or ("a", 0) in await one.heard()


async def test_a_stranger_s_subscribe_ends_nothing(one):
    """Though it has the same alias and query."""
    one.subscribe(access(1010), "a", alias="x")
    one.at(1010)
    one.subscribe(access(1020, client="other"), "b", alias="x")

    assert one.ended == []


async def test_only_who_subscribed_may_unsubscribe(one):
    """What is another's is as unknown as what is not there."""
    one.subscribe(access(1010), "a")
    one.leases.check("a", access(1020, jti="2"))
    texts = set()
    for spuid, who in (("a", access(1020, client="other")), ("b", access(1020))):
        with pytest.raises(UnknownSubscription) as refused:
            one.leases.check(spuid, who)
        texts.add(refused.value.description.replace(f" {spuid} ", " ? "))

    assert len(texts) == 1


async def test_a_revoked_token_is_one_that_ran_out(one):
    """Another one of the client renews, though it is good for less."""
    one.subscribe(access(1050), "a")
    await one.heard()
    one.judge.change(**{"1": None})
    one.judge.change(**{"1": None})
    one.leases.put(step(1, "a"))
    assert await one.heard() == [("a", 401)]
    one.leases.renew(access(1020, jti="2"))

    assert await one.heard() == [("a", 1)]


@pytest.mark.parametrize(
    "now",
    [
        access(1050, rights=SOME),
        access(1050, scopes=frozenset({Scope.QUERY})),
    ],
)
async def test_other_rights_end_it(one, now):
    """At once: a 403, and the core is told."""
    one.subscribe(access(1050), "a")
    await one.heard()
    one.judge.change(**{"1": now})
    one.leases.put(step(1, "a"))

    assert one.ended == ["a"]
    assert await one.heard() == [("a", 403)]


async def test_other_permissions_of_the_same_graphs_end_nothing(one):
    """What may be written does not matter here."""
    one.subscribe(access(1050), "a")
    one.judge.change(**{"1": access(1050, rights=Rights(write=frozenset()))})
    one.leases.put(step(1, "a"))

    assert await one.heard() == [("a", 0), ("a", 1)]


async def test_a_token_with_other_rights_renews_nothing(one):
    """What has run out ends with a 403; what has not goes on by its own token."""
    one.subscribe(access(1010), "a")
    one.subscribe(access(1050, jti="2", rights=SOME), "b")
    await one.heard()
    one.at(1010)
    one.leases.renew(access(1020, jti="3", rights=Rights(read=frozenset())))

    assert one.ended == ["a"]
    assert await one.heard() == [("a", 403)]


async def test_an_answer_that_comes_too_late_is_withheld(one):
    """The token ran out while the core was at it."""
    one.now = 1010.0
    one.subscribe(access(1010), "a")
    one.outbox.expire()

    assert await one.heard() == [("a", 401)]


async def test_a_subscription_that_ended_is_forgotten(one):
    """Nothing is told of it, and the clock is not asked for it."""
    one.subscribe(access(1010), "a")
    one.leases.put(Unsubscribed("a"))
    one.subscribe(access(1020, jti="2"), "b")
    one.leases.put(Failure("subscription_failed", 500, "no", spuid="b"))
    await one.heard()
    one.at(1030)

    assert await one.heard() == []
    assert one.leases.left_s is None


async def test_who_is_lost_can_come_back(one):
    """The outbox knows what it missed; no clock runs meanwhile."""
    one.leases.ask(access(1010), None, QUERY)
    one.leases.begin(notification(0, spuid="a"))
    await one.heard()
    one.at(1010)
    one.leases.put(step(1, "a"))
    assert one.leases.lose() == {"a"}
    one.leases.put(step(2, "a"))

    assert one.leases.reaches("a", 0)
    assert one.leases.hand_over("a", 0) is not None


async def test_time_alone_does_it():
    """Without anybody asking."""
    outbox, ended = WithholdingOutbox(LimitsConfig()), []
    leases = Leases(Judge(), outbox, 0.05, ended.extend)
    leases.ask(access(time.time() + 0.05), None, QUERY)
    leases.put(notification(0, spuid="a"))
    await asyncio.sleep(0.3)
    leases.close()

    assert ended == ["a"]


async def test_where_nobody_has_to_say_who_they_are_there_are_none():
    """And a plain outbox."""
    outbox, leases = outbox_for(Nobody(), LimitsConfig(), 1.0)
    assert (type(outbox), leases) == (Outbox, None)
    outbox, leases = outbox_for(Judge(), LimitsConfig(), 1.0)
    assert isinstance(outbox, WithholdingOutbox)
    assert isinstance(leases, Leases)


async def test_tokens_that_run_out_and_are_renewed_are_counted(one):
    """Once for each client on the connection; one that comes in time is not noticed."""
    with counting(out=meters.RAN_OUT, renewed=meters.RENEWED) as counted:
        one.subscribe(access(1010), "a")
        one.subscribe(access(1010), "b", OTHER)
        await one.heard()
        one.leases.renew(access(1020))
        one.at(1020)
        await one.heard()
        one.leases.renew(access(1030))
    assert counted == {"out": 1, "renewed": 1}
