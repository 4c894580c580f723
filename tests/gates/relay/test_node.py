"""Single nodes among few: who is let in, what is refused, and what a slow sink does to the others."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.overlay import STREAM, Overlay, Recorder, items, neighbours_of, tracker, until
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from triplewire.broker.errors import Forbidden, NotFound, Overloaded, ShuttingDown
from triplewire.broker.overlay_config import RelayConfig
from triplewire.gates.relay.links import NODE, SUBPROTOCOL
from triplewire.gates.relay.messages import (
    Certified,
    Heads,
    Join,
    Leave,
    Need,
    Wanted,
    decode,
    encode,
)
from triplewire.gates.relay.node import Node
from triplewire.gates.relay.parcels import chain_name, seal
from triplewire.gates.relay.statuses import Neighbour, StreamInstructions
from triplewire.gates.relay.tickets import TrackerKey
from triplewire.gates.relay.tracker_access import TrackerAccess


@pytest.fixture
async def overlay():
    """Three nodes, each of which is linked with both others."""
    async with tracker() as url, Overlay(url) as three:
        await three.grow(3)
        yield three


def trusting(overlay, name) -> TrackerKey:
    """A tracker's key that this node trusts as it does its tracker's."""
    key = TrackerKey(Ed25519PrivateKey.generate())
    overlay.nodes[name]._tracked.keys.add(key.jwks(), "http://a-test")
    return key


class Stranger:
    """A link of a node that does what it likes."""

    def __init__(self, node, name, ticket):
        self._connecting = connect(
            node.links_at,
            additional_headers={NODE: name, "Authorization": f"Bearer {ticket}"},
            subprotocols=[SUBPROTOCOL],
            max_size=None,
        )
        self.heard: list = []

    async def __aenter__(self):
        self.link = await self._connecting
        self._task = asyncio.create_task(self._hear())
        return self

    async def __aexit__(self, *_):
        await self.link.close()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _hear(self):
        async for frame in self.link:
            self.heard += decode(frame)

    async def say(self, *messages):
        for message in messages:
            await self.link.send(encode(message))


async def test_tickets_that_are_not_for_this_pair_are_refused(overlay):
    """Another's, one for a stream that this node is not in, one that has ended, another tracker's, and none that is a ticket: 401, each counted."""
    node = overlay.nodes["n00"]
    key = trusting(overlay, "n00")
    later, stranger = time.time() + 60, TrackerKey(Ed25519PrivateKey.generate())
    certificate = key.certificate(STREAM, bytes(32), "", "x", "ws://x", later)
    bad = [
        key.ticket(STREAM, "x", "n01", "e", later),
        key.ticket(STREAM, "n02", "n00", "e", later),
        key.ticket("other", "x", "n00", "e", later),
        key.ticket(STREAM, "x", "n00", "e", time.time() - 60),
        stranger.ticket(STREAM, "x", "n00", "e", later),
        certificate,
        "no.ticket.atall",
    ]
    for ticket in bad:
        with pytest.raises(InvalidStatus) as refused:
            async with Stranger(node, "x", ticket):
                pass
        assert refused.value.response.status_code == 401
    assert node.counted.links_refused == len(bad)


async def test_a_newcomer_whom_nobody_instructed_gets_nothing_and_has_to_go(overlay):
    """Its ticket is good: it waits for our own instructions, which do not come; the degree stays as it is."""
    node = overlay.nodes["n00"]
    ticket = trusting(overlay, "n00").ticket(STREAM, "x", "n00", "e", time.time() + 60)
    async with Stranger(node, "x", ticket) as stranger:
        await stranger.say(Join(STREAM, ticket))
        await overlay.nodes["n01"].ready(STREAM)
        await overlay.nodes["n01"].publish(STREAM, items(5))
        await until(lambda: len(overlay.sinks["n00"].ids) == 5)
        assert len(neighbours_of(node)) == 2
        await until(lambda: stranger.heard == [Leave(STREAM)], 5)
        await until(lambda: stranger.link.close_code == 1000, 8)
    assert set(neighbours_of(node)) == {"n01", "n02"}


async def test_a_ticket_for_one_stream_opens_no_other(overlay):
    """A link may be there for one stream; what asks for another with the same ticket is told no."""
    node = overlay.nodes["n00"]
    node.carry("other", Recorder())
    node.follow("other", 1)
    ticket = trusting(overlay, "n00").ticket("other", "x", "n00", "e", time.time() + 60)
    async with Stranger(node, "x", ticket) as stranger:
        await stranger.say(Join(STREAM, ticket))
        await until(lambda: stranger.heard == [Leave(STREAM)])
        assert node.counted.links_refused == 1


async def test_forged_parcels_go_nowhere(overlay):
    """Of no chain, of a chain without a good certificate, and signed by another: counted, and nobody gets them."""
    node = overlay.nodes["n00"]
    await overlay.nodes["n01"].ready(STREAM)
    await overlay.nodes["n01"].publish(STREAM, items(3, "true"))
    await until(lambda: len(overlay.sinks["n00"].ids) == 3)
    chain = overlay.nodes["n01"]._members[STREAM].own.name
    mine = Ed25519PrivateKey.generate()
    key = trusting(overlay, "n00")
    later = time.time() + 60
    ticket = key.ticket(STREAM, "x", "n00", "e", later)
    public = mine.public_key().public_bytes_raw()
    async with Stranger(node, "x", ticket) as stranger:
        await stranger.say(Join(STREAM, ticket))
        await stranger.say(seal(bytes(8), 1, items(1, "none"), mine))
        await until(lambda: node.counted.uncertified == 1)
        liar = TrackerKey(Ed25519PrivateKey.generate())
        made_up = liar.certificate(STREAM, public, "somebody", "x", "ws://x:1/links", later)
        await stranger.say(Certified(made_up))
        await until(lambda: node.counted.certificates_refused == 1)
        await stranger.say(seal(chain, 4, items(1, "forged"), mine))
        await until(lambda: node.counted.forged == 1)
        await until(lambda: stranger.link.close_code == 1002)
    # What was forged has not hidden the true one
    await overlay.nodes["n01"].publish(STREAM, items(3, "true"))
    await until(lambda: len(overlay.sinks["n00"].ids) == len(overlay.sinks["n02"].ids) == 6)
    assert all(each.startswith("true") for each in overlay.sinks["n00"].ids + overlay.sinks["n02"].ids)
    assert overlay.nodes["n02"].counted.forged == 0


async def test_who_has_shown_no_ticket_is_given_nothing(overlay):
    """A WANT for a stream that was not joined over this link is not answered."""
    node = overlay.nodes["n00"]
    await node.ready(STREAM)
    await node.publish(STREAM, items(3))
    chain = node._members[STREAM].own.name
    node.carry("other", Recorder())
    node.follow("other", 1)
    ticket = trusting(overlay, "n00").ticket("other", "x", "n00", "e", time.time() + 60)
    async with Stranger(node, "x", ticket) as stranger:
        await stranger.say(Wanted(chain, 1, 3))
        await until(lambda: node.counted.misfit == 1)
        assert stranger.heard == []


async def test_what_is_said_of_a_chain_waits_for_the_keys_of_its_certificate(overlay, monkeypatch):
    """The signer's keys are asked for first, and what came behind the certificate keeps its place."""
    node, later = overlay.nodes["n00"], time.time() + 60
    newer, publisher = TrackerKey(Ed25519PrivateKey.generate()), Ed25519PrivateKey.generate().public_key()
    chain = chain_name(STREAM, "x", publisher.public_bytes_raw())
    token = newer.certificate(STREAM, publisher.public_bytes_raw(), "", "x", "ws://x:1/links", later)

    async def learn():
        await asyncio.sleep(0.05)
        node._tracked.keys.add(newer.jwks(), "http://another")

    monkeypatch.setattr(node._unproven, "_learn", learn)
    ticket = trusting(overlay, "n00").ticket(STREAM, "x", "n00", "e", later)
    async with Stranger(node, "x", ticket) as stranger:
        await stranger.say(Join(STREAM, ticket), Certified(token), Heads({chain: (3, 7)}))
        heads = node._members[STREAM].forwarding._sequencer
        await until(lambda: chain in heads._chains and heads._chains[chain].claims == {"x": (3, 7)}, 3)


async def test_the_certificate_of_a_chain_that_only_heads_tell_of_is_asked_for(overlay):
    """Of who told; then what was told counts, and the others hear of the chain as of one that has begun."""
    node, later = overlay.nodes["n00"], time.time() + 60
    key, mine = trusting(overlay, "n00"), Ed25519PrivateKey.generate()
    public = mine.public_key().public_bytes_raw()
    chain = chain_name(STREAM, "x", public)
    ticket = key.ticket(STREAM, "x", "n00", "e", later)
    for name in ("n01", "n02"):
        overlay.nodes[name]._tracked.keys.add(key.jwks(), "http://a-test")
    async with Stranger(node, "x", ticket) as stranger:
        await stranger.say(Heads({chain: (3, 4)}))
        await stranger.say(Join(STREAM, ticket), Heads({chain: (3, 4)}, {chain: 4}))
        await until(lambda: stranger.heard == [Need((chain,))])
        token = key.certificate(STREAM, public, "", "x", "ws://x:1/links", later)
        await stranger.say(Certified(token, begun=True))
        heads = node._members[STREAM].forwarding._sequencer
        await until(lambda: chain in heads._chains and heads._chains[chain].claims == {"x": (4, 4)}, 3)
        await stranger.say(seal(chain, 4, items(1), mine))
        for each in overlay.sinks.values():
            await until(lambda each=each: len(each.ids) == 1)
            assert not each.gaps
        assert len(node._told_chains) == 0


async def test_a_parcel_of_a_chain_that_is_not_known_has_its_certificate_asked_for(overlay):
    """Of whom it came from; what came meanwhile is missed, and filled in."""
    node, later = overlay.nodes["n00"], time.time() + 60
    key, mine = trusting(overlay, "n00"), Ed25519PrivateKey.generate()
    public = mine.public_key().public_bytes_raw()
    chain = chain_name(STREAM, "x", public)
    ticket = key.ticket(STREAM, "x", "n00", "e", later)
    async with Stranger(node, "x", ticket) as stranger:
        await stranger.say(Join(STREAM, ticket), seal(chain, 1, items(1), mine))
        await until(lambda: stranger.heard == [Need((chain,))])
        token = key.certificate(STREAM, public, "", "x", "ws://x:1/links", later)
        await stranger.say(Certified(token, begun=True), seal(chain, 2, items(1), mine))
        await until(lambda: len(overlay.sinks["n00"].ids) == 1)
        assert node.counted.uncertified == 1


async def test_a_newcomer_hears_of_more_chains_than_a_queue_holds():
    """It asks for their certificates as it can read them; the link is not cut, and the others are asked for nothing twice."""
    async with tracker() as url, Overlay(url, link_bytes=250_000) as overlay:
        one = await overlay.add("n00")
        key, member, size = trusting(overlay, "n00"), one._members[STREAM], 0
        for _ in range(700):
            public = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
            token = key.certificate(STREAM, public, "", "x", "ws://x:1/links", time.time() + 60)
            certificate = one._tracked.keys.certificate(token, time.time())
            member.forwarding.certified(certificate, token, "x", begun=True)
            member.forwarding._chains[certificate.chain].newest = 5
            one._chains[certificate.chain] = member
            size += len(token)
        assert size > 250_000
        late = await overlay.add("late")
        late._tracked.keys.add(key.jwks(), "http://a-test")
        await until(lambda: len(late._chains) == 700)
        assert late.counted.links_lost == one.counted.links_lost == 0
        assert late.counted.control_in_bytes < 2 * size


async def test_who_needs_certificates_is_given_them(overlay):
    """A newcomer has those of chains that began before it came, and of what is kept all; who has no ticket has nothing."""
    one = overlay.nodes["n01"]
    await one.ready(STREAM)
    await one.publish(STREAM, items(3))
    await until(lambda: len(overlay.sinks["n00"].ids) == 3)
    chain = one._members[STREAM].own.name
    late = await overlay.add("late")
    await until(lambda: len(overlay.sinks["late"].ids) == 3)
    assert not late._members[STREAM].forwarding._chains[chain].fresh
    assert not overlay.sinks["late"].gaps
    node = overlay.nodes["n00"]
    node.carry("other", Recorder())
    node.follow("other", 1)
    ticket = trusting(overlay, "n00").ticket("other", "x", "n00", "e", time.time() + 60)
    async with Stranger(node, "x", ticket) as stranger:
        await stranger.say(Need((chain,)))
        await until(lambda: node.counted.misfit == 1)
        assert stranger.heard == []


async def test_too_much_that_is_signed_by_nobody_knows_whom_ends_its_link_alone(overlay, monkeypatch):
    """And those whose keys can't be had are refused."""
    node, later = overlay.nodes["n00"], time.time() + 60

    async def learn():
        await asyncio.sleep(0.5)
        raise ValueError("a bug")

    monkeypatch.setattr(node._unproven, "_learn", learn)
    ticket = trusting(overlay, "n00").ticket(STREAM, "x", "n00", "e", later)
    unknown = TrackerKey(Ed25519PrivateKey.generate()).ticket(STREAM, "x", "n00", "e", later)
    async with Stranger(node, "x", ticket) as stranger:
        with suppress(ConnectionClosed):
            await stranger.say(*[Join(STREAM, unknown)] * 1_001)
        await until(lambda: node._links.get("x") is None)
    await until(lambda: not len(node._unproven))
    async with Stranger(node, "x", ticket) as stranger:
        await stranger.say(Join(STREAM, unknown))
        await until(lambda: stranger.heard == [Leave(STREAM)])
    assert len(neighbours_of(node)) == 2


async def test_a_chain_whose_certificate_has_ended_is_refused_while_there_is_a_tracker(overlay):
    """And counts on while there is none, as nobody can renew it then."""
    node = overlay.nodes["n00"]
    mine = Ed25519PrivateKey.generate()
    key = trusting(overlay, "n00")
    ticket = key.ticket(STREAM, "x", "n00", "e", time.time() + 60)
    public = mine.public_key().public_bytes_raw()
    name = chain_name(STREAM, "x", public)
    token = key.certificate(STREAM, public, "", "x", "ws://x:1/links", time.time() + 60)
    async with Stranger(node, "x", ticket) as stranger:
        await stranger.say(Join(STREAM, ticket), Certified(token), seal(name, 1, items(1), mine))
        await until(lambda: len(overlay.sinks["n00"].ids) == 1)
        chain = node._members[STREAM].forwarding._chains[name]
        ended = time.time() - 100
        object.__setattr__(chain.certificate, "expires", ended)
        await stranger.say(seal(name, 2, items(1), mine))
        await until(lambda: len(overlay.sinks["n00"].ids) == 2)
        talk = node._tracked._talks[node._tracked._home]
        talk.answering_since -= 100
        await stranger.say(seal(name, 3, items(1), mine))
        await until(lambda: node.counted.uncertified == 1)
        assert len(overlay.sinks["n00"].ids) == 2


async def test_instructions_that_are_old_are_ignored(overlay):
    """A smaller counter of the same epoch, and an epoch of the tracker that is over."""
    node = overlay.nodes["n00"]
    member = node._members[STREAM]
    epoch, counter = member._epoch, member._counter
    before = set(neighbours_of(node))
    ignored = node.counted.instructions_ignored
    node.instructed(STREAM, epoch, StreamInstructions(counter - 1), None)
    assert node.counted.instructions_ignored == ignored + 1
    node.instructed("unknown", epoch, StreamInstructions(counter + 1), None)
    await asyncio.sleep(0.05)
    assert set(neighbours_of(node)) == before
    assert (member._epoch, member._counter) == (epoch, counter)


async def test_a_slow_sink_holds_up_nothing_but_itself():
    """Its node forwards at once; when it takes again, it gets all that is kept, once and in order."""
    async with tracker() as url, Overlay(url, sink_parcels=5) as overlay:
        await overlay.grow(3)
        slow = overlay.sinks["n01"]
        slow.may_take = asyncio.Event()
        await overlay.nodes["n00"].ready(STREAM)
        some = items(200, "n00")
        for item in some:
            await overlay.nodes["n00"].publish(STREAM, [item])
            await asyncio.sleep(0.006)
        await until(lambda: len(overlay.sinks["n02"].ids) == 200)
        assert slow.ids == []
        assert overlay.nodes["n01"].counted.parcels > 20
        assert len(overlay.nodes["n01"]._members[STREAM].forwarding._giving) <= 6
        slow.may_take.set()
        await until(lambda: len(slow.ids) == 200)
        assert slow.ids == [item.event_id for item in some]
        assert not slow.gaps


async def test_what_a_slow_sink_was_too_slow_for_is_told_as_a_gap():
    """Where nobody keeps it any more: the marker stands in its place, and it goes on behind it."""
    async with tracker() as url, Overlay(url, sink_parcels=2, kept_bytes=3_000, gap_tries=2) as overlay:
        await overlay.grow(2)
        slow = overlay.sinks["n01"]
        slow.may_take = asyncio.Event()
        await overlay.nodes["n00"].ready(STREAM)
        some = items(60, "n00")
        for item in some:
            await overlay.nodes["n00"].publish(STREAM, [item])
            await asyncio.sleep(0.006)
        await until(lambda: overlay.nodes["n01"].counted.items == 60)
        slow.may_take.set()
        await until(lambda: slow.ids and slow.ids[-1] == some[-1].event_id)
        assert len(slow.gaps) == 1
        _, first, last = slow.gaps[0]
        ids = [item.event_id for item in some]
        assert slow.ids == ids[: first - 1] + ids[last:]
        assert overlay.nodes["n01"].counted.gaps == 1


async def test_what_no_neighbour_has_is_asked_of_its_origin():
    """A node that only the origin could help gets a ticket for one link with it."""
    async with tracker(improve_s=100.0) as url, Overlay(url, gap_tries=5) as overlay:
        await overlay.grow(8)
        far = next(name for name in overlay.nodes if name not in neighbours_of(overlay.nodes["n00"]))
        if far == "n00":
            far = next(
                name
                for name in overlay.nodes
                if name != "n00" and name not in neighbours_of(overlay.nodes["n00"])
            )
        # Nobody but the origin has it: all others dropped it
        await overlay.nodes["n00"].ready(STREAM)
        some = items(12, "n00")
        await overlay.nodes["n00"].publish(STREAM, some[:4])
        await until(lambda: len(overlay.sinks[far].ids) == 4)
        overlay.networks["n00"].silent.update(overlay.nodes)
        await overlay.nodes["n00"].publish(STREAM, some[4:8])
        # The other parcels hide that the neighbours of the origin have not got these
        overlay.networks["n00"].silent.clear()
        for name in overlay.nodes:
            if name not in {"n00", far}:
                overlay.nodes[name]._members[STREAM].forwarding._sequencer.wants = lambda now: []  # noqa: ARG005
        await overlay.nodes["n00"].publish(STREAM, some[8:])
        await until(lambda: len(overlay.sinks[far].ids) == 12, 15, lambda: str(overlay.sinks[far].ids))
        assert overlay.sinks[far].ids == [item.event_id for item in some]
        assert overlay.nodes[far].counted.origins >= 1
        await until(lambda: "n00" not in {link.peer for link in overlay.nodes[far]._links}, 10)


async def test_items_that_come_together_share_parcels(overlay):
    """The first of a quiet chain leaves at once, what follows it within parcel_s leaves together, in its order."""
    node = overlay.nodes["n00"]
    await node.ready(STREAM)
    some = items(200, "n00")
    await asyncio.gather(*(node.publish(STREAM, [item]) for item in some))
    assert node.counted.published_items == 200
    assert node.counted.published <= 5
    await until(lambda: len(overlay.sinks["n01"].ids) == 200)
    assert overlay.sinks["n01"].ids == [item.event_id for item in some]
    many = items(100, "n00", size=3_000)
    before = node.counted.published
    await node.publish(STREAM, many)
    assert node.counted.published - before == 300_000 // (64 * 1024) + 1
    await until(lambda: len(overlay.sinks["n01"].ids) == 300)


async def test_a_publisher_that_gives_up_loses_nothing(overlay):
    """What it gave has its place, and leaves all the same."""
    node = overlay.nodes["n00"]
    await node.ready(STREAM)
    await node.publish(STREAM, items(1, "first"))
    task = asyncio.create_task(node.publish(STREAM, items(1, "second")))
    await asyncio.sleep(0)
    task.cancel()
    await node.publish(STREAM, items(1, "third"))
    await until(lambda: len(overlay.sinks["n01"].ids) == 3)


async def test_without_a_tracker_nobody_is_told_that_it_was_published():
    """Overloaded in time where none answers, NotFound for a stream that is not carried, ShuttingDown at the end."""
    node = Node(RelayConfig(node="lonely", port=0, trackers=("http://127.0.0.1:9",), dial_s=0.3))
    node.carry(STREAM, Recorder())
    await node.start()
    with pytest.raises(Overloaded, match="no tracker"):
        await node.ready(STREAM)
    with pytest.raises(Overloaded):
        await node.publish(STREAM, items(1))
    with pytest.raises(NotFound):
        await node.ready("other")
    await node.close()
    with pytest.raises(ShuttingDown):
        await node.ready(STREAM)
    node.carry("more", Recorder())
    node.follow(STREAM, 3)
    await node.drop(STREAM)


async def refused(node, stream=STREAM):
    """Why nothing can be published; "" where it can."""
    try:
        await node.ready(stream)
    except (Forbidden, Overloaded) as error:
        return error.description
    return ""


async def until_refused(node, why):
    """Wait until a publisher is told so; until it is let, where that is ""."""
    async with asyncio.timeout(10):
        while (found := await refused(node)) != why and not (why and why in found):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_a_refusal_of_the_tracker_is_told_until_it_is_none_any_more(monkeypatch):
    """The node shares the stream with nobody meanwhile, publishes nothing, and says that it is not there; then all goes on."""
    async with tracker(heartbeat_s=0.5, rejoin_s=0.0) as url, Overlay(url, dial_s=0.4) as overlay:
        await overlay.grow(3)
        node = overlay.nodes["n00"]
        await node.ready(STREAM)
        with monkeypatch.context() as patched:
            patched.setattr(TrackerAccess, "refusal", lambda *_: "not for you")
            await until_refused(node, "not for you")
            assert not neighbours_of(node)
            with pytest.raises(Forbidden, match="not for you"):
                await node.publish(STREAM, items(1))
            await until(lambda: not node.is_there(STREAM), 5)
        await until_refused(node, "")
        await overlay.linked()
        assert node.is_there(STREAM)
        await node.publish(STREAM, items(1))
        await until(lambda: len(overlay.sinks["n01"].ids) == 1)


async def test_who_is_turned_away_by_its_tracker_publishes_nothing(monkeypatch):
    """Its token has ended, or its client may be no node: 401 or 403 to its statuses, whatever it was given before."""

    def turned_away(*_):
        raise Forbidden("no node of ours")

    async with tracker(heartbeat_s=0.5) as url, Overlay(url) as overlay:
        node = await overlay.add("n00")
        await node.ready(STREAM)
        with monkeypatch.context() as patched:
            patched.setattr(TrackerAccess, "node", staticmethod(turned_away))
            await until_refused(node, "does not take this node")
            assert not node.is_there(STREAM)
        await until_refused(node, "")
        assert node.is_there(STREAM)


async def test_who_may_publish_again_is_let_at_once(monkeypatch):
    """Its certificate is still the same one."""
    async with tracker(heartbeat_s=0.5) as url, Overlay(url) as overlay:
        node = await overlay.add("n00")
        await node.ready(STREAM)
        with monkeypatch.context() as patched:
            patched.setattr(TrackerAccess, "publisher", lambda *_: None)
            await until_refused(node, "does not let this node publish")
        await until_refused(node, "")


async def test_a_certificate_that_has_ended_is_waited_for_anew(overlay):
    """Others would not take what is signed by it, as there is a tracker; while there is none, it counts on."""
    late = await overlay.add("late", follows=False, linger_s=0.1)
    await late.ready(STREAM)
    own, talk = late._members[STREAM].own, late._tracked._talks[late._tracked._home]
    assert own.expires > time.time() + 100
    await until(lambda: late.health()["members"] == 0)
    own.token, own.expires = "of.long.ago", time.time() - 60
    talk.answering_since = None
    await late.ready(STREAM)
    assert own.token == "of.long.ago"
    await until(lambda: own.token != "of.long.ago")  # by the tracker's next answer
    await until(lambda: late.health()["members"] == 0)
    own.token, own.expires = "of.long.ago", time.time() - 60
    talk.answering_since = asyncio.get_running_loop().time() - 100
    await late.ready(STREAM)
    assert own.token != "of.long.ago"
    assert own.expires > time.time() + 100


async def test_a_node_whom_nobody_reaches_is_not_there():
    """It says that it takes links where it does not; its tracker gives up, and it has no neighbours though others are there."""
    settings = {"heartbeat_s": 0.5, "unlinked_s": 0.2, "forgive_s": 100.0}
    async with tracker(**settings) as url, Overlay(url, dial_s=0.5) as overlay:
        for name in ("n00", "n01"):
            await overlay.add(name)
        lost = await overlay.add("n02", links_at="ws://127.0.0.1:9/links")
        assert lost.is_there(STREAM)  # for a moment
        member = lost._members[STREAM]
        await until(lambda: member._counter and not member.wanted)
        await until(lambda: not lost.is_there(STREAM), 5)
        with pytest.raises(Overloaded, match="not linked"):
            await lost.ready(STREAM)
        assert all(overlay.nodes[name].is_there(STREAM) for name in ("n00", "n01"))
        assert not lost.is_there("other")


async def test_a_node_that_all_have_left_is_not_there():
    """Also while nobody tells it so; it is again when somebody comes."""
    settings = {"heartbeat_s": 0.5, "silent_s": 100.0, "gone_s": 100.0, "unlinked_s": 100.0}
    async with tracker(**settings) as url, Overlay(url, dial_s=0.5) as overlay:
        await overlay.grow(2)
        node = overlay.nodes["n01"]
        await node.ready(STREAM)
        await overlay.lose("n00")
        await until(lambda: not node.is_there(STREAM), 10)
        with pytest.raises(Overloaded, match="not linked"):
            await node.ready(STREAM)
        await overlay.add("n02")
        await until(lambda: node.is_there(STREAM))
        await node.ready(STREAM)


async def test_a_node_that_is_alone_is_there():
    """There is nobody else; with its tracker or without, and also where nobody follows yet."""
    async with Overlay(dial_s=0.3) as overlay:
        async with tracker() as url:
            overlay.trackers = (url,)
            node = await overlay.add("n00", follows=False)
            assert node.is_there(STREAM)
            node.follow(STREAM, 1)
            assert node.is_there(STREAM)
            await node.ready(STREAM)
            await asyncio.sleep(0.6)  # twice the time in which it would be none
            assert node.is_there(STREAM)
        await until(lambda: node.health()["tracker_trouble"], 10)
        await asyncio.sleep(0.6)
        assert node.is_there(STREAM)
        await node.ready(STREAM)


async def test_a_token_that_is_no_good_any_more_ends_no_link(overlay):
    """An honest node may show it, or one by a key that is new; a wrong signature is nobody's but the sender's."""
    node, later = overlay.nodes["n00"], time.time() + 60
    key = trusting(overlay, "n00")
    forger = TrackerKey(Ed25519PrivateKey.generate())
    forger.kid = key.kid
    ticket = key.ticket(STREAM, "x", "n00", "e", later)
    async with Stranger(node, "x", ticket) as stranger:
        ended = time.time() - 60
        await stranger.say(
            Join(STREAM, key.ticket(STREAM, "x", "n00", "e", ended)),
            Certified(key.certificate(STREAM, bytes(32), "", "x", "ws://x", ended)),
        )
        await until(lambda: (node.counted.links_refused, node.counted.certificates_refused) == (1, 1))
        await until(lambda: stranger.heard == [Leave(STREAM)])
        with suppress(ConnectionClosed):
            await stranger.say(Join(STREAM, forger.ticket(STREAM, "x", "n00", "e", later)))
        await until(lambda: stranger.link.close_code == 1002)
    assert node.counted.links_refused == 2


async def test_a_stream_that_is_dropped_is_left_at_once(overlay):
    """Its neighbours go on without it, and the links end when no stream is shared over them."""
    await overlay.nodes["n00"].drop(STREAM)
    await until(lambda: "n00" not in neighbours_of(overlay.nodes["n01"]))
    await until(lambda: overlay.nodes["n00"].health()["links"] == 0, 10)
    await overlay.nodes["n00"].drop(STREAM)
    assert overlay.nodes["n00"].status([]).carries == ()


async def test_what_waits_leaves_before_a_stream_is_dropped(overlay):
    """Its publisher is answered, and the others have it."""
    one = overlay.nodes["n00"]
    await one.ready(STREAM)
    published = [asyncio.create_task(one.publish(STREAM, items(1))) for _ in range(3)]
    await asyncio.sleep(0)
    await one.drop(STREAM)
    async with asyncio.timeout(2):
        await asyncio.gather(*published)
    await until(lambda: len(overlay.sinks["n01"].ids) == 3)


async def test_what_is_published_behind_the_linger_time_comes_to_the_others(overlay):
    """A store may have been slow: the stream has been left between `ready` and `publish`."""
    late = await overlay.add("late", follows=False, linger_s=0.1)
    await late.ready(STREAM)
    await until(lambda: late.health()["members"] == 0)
    await late.publish(STREAM, items(1))
    await until(lambda: len(overlay.sinks["n01"].ids) == 1)


async def test_what_is_published_at_once_comes_to_the_others_before_the_end(overlay):
    """A process that publishes as soon as it can, and ends: the others have it though no link was there yet."""
    short = await overlay.add("short", follows=False)
    await short.ready(STREAM)
    await short.publish(STREAM, items(2))
    await short.drop(STREAM)
    await short.close()
    del overlay.nodes["short"]
    await until(lambda: all(len(overlay.sinks[name].ids) == 2 for name in overlay.nodes))


async def test_what_a_dead_neighbour_was_given_comes_to_the_next_before_the_end():
    """It was sent, and nobody may have it: a process that ends waits a moment for somebody else."""
    async with tracker() as url, Overlay(url) as overlay:
        await overlay.grow(2)
        node = overlay.nodes["n00"]
        await node.ready(STREAM)
        overlay.networks["n00"].silent.add("n01")
        await node.publish(STREAM, items(2))
        await overlay.lose("n01")
        await until(lambda: not neighbours_of(node))
        ending = asyncio.create_task(node.drop(STREAM))
        await overlay.add("n02")
        await ending
        await until(lambda: len(overlay.sinks["n02"].ids) == 2)
        assert not overlay.sinks["n02"].gaps


async def test_a_link_serves_all_streams_of_two_nodes(overlay):
    """There is one for a pair, and a stream that ends does not end it while another is shared."""
    for name in ("n00", "n01"):
        overlay.nodes[name].carry("more", Recorder())
        overlay.nodes[name].follow("more", 1)
    links = overlay.nodes["n00"]._links
    await until(lambda: "n01" in overlay.nodes["n00"]._members["more"].forwarding.neighbours)
    assert len(links) == 2
    link = links.get("n01")
    await overlay.nodes["n00"].drop("more")
    await asyncio.sleep(0.2)
    assert links.get("n01") is link
    assert "n01" in neighbours_of(overlay.nodes["n00"])


async def test_an_address_that_is_wrong_is_told_as_missing(overlay):
    """A neighbour who can't be reached is null in the status, and tried again while it is wanted."""
    node = overlay.nodes["n00"]
    member = node._members[STREAM]
    wanted = (*member.wanted.values(), Neighbour("zz", "ws://127.0.0.1:9/links", "a.b.c"))
    node.instructed(STREAM, member._epoch, StreamInstructions(member._counter + 1, wanted), None)
    await until(lambda: member.status().neighbours.get("zz", 1) is None)
    await until(lambda: node.counted.dials_failed >= 2)
    node.instructed(STREAM, member._epoch, StreamInstructions(member._counter + 1, wanted[:2]), None)
    await until(lambda: "zz" not in node._links._dialling)
    assert "zz" not in member.status().neighbours


async def test_a_neighbour_who_does_not_come_is_told_as_missing():
    """Of two the smaller id dials; the other one waits for it, and says so when it has waited too long."""
    async with tracker() as url, Overlay(url, dial_s=0.4) as overlay:
        node = await overlay.add("n00")
        member = node._members[STREAM]
        await until(lambda: node.counted.instructions)
        wanted = (Neighbour("a0", "ws://127.0.0.1:9/links", "a.b.c"),)
        node.instructed(STREAM, member._epoch, StreamInstructions(member._counter + 1, wanted), None)
        assert "a0" not in member.status().neighbours
        await until(lambda: member.missed == {"a0"})
        assert node.counted.dials_failed == 0
