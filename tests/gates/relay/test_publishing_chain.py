"""A node's own chain: numbers, parcels, and who waits for them."""

from __future__ import annotations

import asyncio

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st
from support.overlay import items

from triplewire.broker.errors import EngineError
from triplewire.broker.overlay_config import RelayConfig
from triplewire.gates.relay import publishing_chain
from triplewire.gates.relay.counted import Counted
from triplewire.gates.relay.parcels import ParcelLimits, chain_name, is_proven, unpack, verify
from triplewire.gates.relay.publishing_chain import PublishingChain, all_left
from triplewire.gates.relay.tracker_key import decoded


def chain_of(sent, **settings_):
    return PublishingChain("news", "n", RelayConfig(**settings_), Counted(), sent.append)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 8), st.integers(0, 600), st.sampled_from([0, 0, 0.002])), max_size=20)
)
def test_whatever_is_published_leaves_once_and_in_order(calls):
    """However it comes: parcels follow each other without a gap, and none is larger than it may be, but for one item."""

    async def publish():
        sent = []
        chain = chain_of(sent, parcel_s=0.001, parcel_bytes=1_500)
        expected, waiting = [], []
        for count, size, pause_s in calls:
            some = items(count, size=size)
            expected += [item.event_id for item in some]
            waiting.append(asyncio.create_task(all_left(chain.append(some))))
            await asyncio.sleep(pause_s)
        await asyncio.gather(*waiting)
        return chain, sent, expected

    chain, sent, expected = asyncio.run(publish())
    assert [item.event_id for parcel in sent for item in unpack(parcel)] == expected
    following = 1
    for parcel in sent:
        assert (parcel.chain, parcel.first) == (chain.name, following)
        assert verify(parcel, Ed25519PublicKey.from_public_bytes(decoded(chain.key)))
        assert len(parcel.items) <= 1_500 or parcel.count == 1
        following = parcel.last + 1


async def test_each_chain_has_a_key_and_proves_it():
    """It is named by it, and the proof is for this stream and node alone."""
    one, other = chain_of([]), chain_of([])
    key, proof = decoded(one.key), decoded(one.proof)
    assert (one.name, one.name == other.name) == (chain_name("news", "n", key), False)
    assert is_proven("news", "n", key, proof)
    for stream, node, another in (("new", "n", key), ("news", "m", key), ("news", "n", decoded(other.key))):
        assert not is_proven(stream, node, another, proof)
    assert not is_proven("news", "n", key[1:], proof)


async def test_the_first_of_a_quiet_chain_leaves_at_once():
    """What follows waits for the others of its parcel."""
    sent = []
    chain = chain_of(sent, parcel_s=0.05)
    first = chain.append(items(1))
    assert len(sent) == 1 and first[0].done()
    second, third = chain.append(items(1)), chain.append(items(2))
    assert len(sent) == 1
    assert second == third
    await all_left([*second, *third])
    assert [parcel.count for parcel in sent] == [1, 3]


async def test_flush_does_not_wait():
    """At the end, what waits leaves at once, and nothing leaves twice."""
    sent = []
    chain = chain_of(sent, parcel_s=10)
    chain.append(items(1))
    left = chain.append(items(1))
    chain.flush()
    chain.flush()
    await all_left(left)
    assert len(sent) == 2


async def test_what_fits_in_no_parcel_is_told_to_its_publisher_alone(monkeypatch):
    """Its number is not used up: what follows leaves without a gap."""
    seal = publishing_chain.seal
    monkeypatch.setattr(
        publishing_chain, "seal", lambda *given: seal(*given, ParcelLimits(items_bytes=1_000))
    )
    sent = []
    chain = chain_of(sent)
    with pytest.raises(EngineError, match="can't leave"):
        await all_left(chain.append(items(1, size=2_000)))
    await all_left(chain.append(items(1)))
    assert [parcel.first for parcel in sent] == [1]


async def test_a_failure_of_whoever_sends_is_told(caplog):
    """Nobody waits for ever, and what comes then leaves."""
    sent = []
    chain = chain_of(sent)
    chain._send = lambda _: {}["nothing"]
    with pytest.raises(EngineError, match="could not leave"):
        await all_left(chain.append(items(1)))
    assert "KeyError" in caplog.text
    chain._send = sent.append
    await all_left(chain.append(items(1)))
    assert len(sent) == 1
