"""Tickets and certificates are made when they are wanted, last long enough, and a chain is one node's alone."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from triplewire.gates.relay.issuing import Issuing
from triplewire.gates.relay.parcels import chain_name, prove
from triplewire.gates.relay.tickets import LEEWAY_S, TrackerKey, TrackerKeys, decoded, encoded
from triplewire.gates.relay.tracker_counts import Counts

LIFE_S = 300.0
PRIVATE = [Ed25519PrivateKey.generate() for _ in range(70)]
KEYS = [encoded(each.public_key().public_bytes_raw()) for each in PRIVATE]
KEY, OTHER = KEYS[:2]


class Clock:
    now = 1_800_000_000.0

    def __call__(self):
        return self.now


def issuing():
    clock = Clock()
    key = TrackerKey.open(None, clock)
    keys = TrackerKeys()
    keys.add(key.jwks(), "http://t")
    return Issuing(key, "S", "epoch", LIFE_S, clock, Counts()), clock, keys


def certificate(issuer, key=KEY, publisher="p", node="n", proof=None):
    proof = proof or encoded(prove("S", node, PRIVATE[KEYS.index(key)]))
    return issuer.certificate(key, proof, publisher, node, "ws://n/links")


def chain(key=KEY, node="n"):
    return chain_name("S", node, decoded(key)).hex()


def test_both_ends_have_the_same_ticket():
    """It is signed once."""
    issuer, clock, keys = issuing()
    token = issuer.ticket("a", "b")
    assert issuer.ticket("b", "a") == token
    assert issuer._counts.signed == 1
    said = keys.ticket(token, clock.now)
    assert (said.stream, said.nodes) == ("S", {"a", "b"})
    assert said.expires == clock.now + LIFE_S


def test_a_ticket_lasts_for_half_its_life_at_least():
    """Whenever it is asked for."""
    issuer, clock, keys = issuing()
    for _ in range(50):
        said = keys.ticket(issuer.ticket("a", "b"), clock.now)
        assert LIFE_S / 2 <= said.expires - clock.now <= LIFE_S
        clock.now += 17.0
    assert issuer._counts.signed == 1 + 50 * 17 // 151


def test_a_clock_that_was_set_back():
    """What is good for longer than it should be is made anew."""
    issuer, clock, keys = issuing()
    issuer.ticket("a", "b")
    clock.now -= 3600
    assert keys.ticket(issuer.ticket("a", "b"), clock.now).expires == clock.now + LIFE_S


def test_a_ticket_that_was_let_go_is_made_anew():
    """And nothing is kept of those who are no neighbours."""
    issuer, clock, _ = issuing()
    first = issuer.ticket("a", "b")
    issuer.let_go("b", "a")
    clock.now += 1
    assert issuer.ticket("a", "b") != first
    issuer.let_go("x", "y")


def test_a_certificate_is_made_anew_at_half_its_life_or_when_it_says_something_else():
    """And else it is the same, so that nodes look at it once."""
    issuer, clock, keys = issuing()
    first = certificate(issuer)
    assert certificate(issuer) == first
    clock.now += 100
    other = certificate(issuer, publisher="q")
    assert keys.certificate(other, clock.now).publisher == "q"
    clock.now += LIFE_S / 2 + 1
    newer = certificate(issuer, publisher="q")
    assert newer != other
    assert keys.certificate(newer, clock.now).expires == clock.now + LIFE_S
    assert issuer.origin(chain()) == "n"


def test_nobody_has_a_certificate_of_anothers_chain():
    """With another's key at another node, or another key at the same node, it is another chain."""
    issuer, clock, keys = issuing()
    chains = {
        keys.certificate(certificate(issuer, key, node=node), clock.now).chain.hex()
        for key in (KEY, OTHER)
        for node in "nm"
    }
    assert chains == {chain(key, node) for key in (KEY, OTHER) for node in "nm"}
    assert len(chains) == 4


def test_who_does_not_prove_to_have_the_key_has_no_certificate():
    """Each time that one is made anew; what the true node has goes on."""
    issuer, clock, _ = issuing()
    true, wrong = certificate(issuer), encoded(prove("S", "n", PRIVATE[1]))
    assert certificate(issuer, proof=wrong) == true  # it was made before, and is known to all
    assert certificate(issuer, proof=wrong, publisher="thief") == ""
    clock.now += LIFE_S / 2 + 1
    for proof in (wrong, encoded(prove("T", "n", PRIVATE[0])), encoded(prove("S", "m", PRIVATE[0]))):
        assert certificate(issuer, proof=proof) == ""
    assert issuer._counts.unproven == 4
    assert issuer.origin(chain()) == "n"
    assert certificate(issuer) not in {"", true}


def test_what_a_node_could_not_prove_is_not_verified_again(monkeypatch):
    """Its statuses say it all the time; another proof is, and the true one is taken."""
    monkeypatch.setattr("triplewire.gates.relay.issuing._MOST_REFUSED", 2)
    issuer, _, _ = issuing()
    wrong = encoded(prove("S", "n", PRIVATE[1]))
    for _ in range(10):
        assert certificate(issuer, proof=wrong) == ""
    assert (issuer._counts.proofs, issuer._counts.unproven) == (1, 10)
    assert certificate(issuer)
    assert issuer._counts.proofs == 2
    for node in "mop":
        assert certificate(issuer, node=node, proof=wrong) == ""
    assert [*issuer._refused] == ["o", "p"]
    assert issuer._counts.proofs == 5


def test_a_node_has_so_many_chains_at_a_time():
    """Others are not held up by it."""
    issuer, clock, _ = issuing()
    for key in KEYS[:64]:
        assert certificate(issuer, key)
    assert certificate(issuer, KEYS[64]) == ""
    assert certificate(issuer, KEYS[65], node="m")
    clock.now += LIFE_S + LEEWAY_S
    assert certificate(issuer, KEYS[64])
    assert issuer.origin(chain(KEYS[0])) is None


def test_a_clock_that_was_ahead_holds_up_no_chains():
    """Chains that expire in a year, as it seemed, are let go of, so that who restarts has room for others."""
    issuer, clock, _ = issuing()
    clock.now += 365 * 86_400
    for key in KEYS[:64]:
        assert certificate(issuer, key)
    clock.now -= 365 * 86_400
    assert certificate(issuer, KEYS[64])
    assert certificate(issuer, KEYS[64])


def test_the_chains_of_all_are_so_many_and_no_more(monkeypatch):
    """Who comes under other names again and again displaces the oldest; who is there has its own anew."""
    monkeypatch.setattr("triplewire.gates.relay.issuing._MOST_CHAINS_OF_ALL", 100)
    issuer, _, _ = issuing()
    assert certificate(issuer)
    for number in range(1, 1000):
        assert certificate(issuer, node=f"n{number}")
        if number % 50 == 0:
            assert certificate(issuer)
            assert issuer.origin(chain()) == "n"
    assert len(issuer._chains) <= 100
    assert sum(issuer._held.values()) == len(issuer._chains)
