"""Failures by address: bounded within a minute, and bounded in memory."""

from __future__ import annotations

import pytest

from triplewire.broker.errors import TooManyRequests
from triplewire.broker.security.attempts import Attempts


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def is_refused(attempts, address):
    try:
        attempts.check(address)
    except TooManyRequests:
        return True
    return False


def test_so_many_failures_within_a_minute_and_no_more():
    """Then it is told when to come back; the others are not concerned."""
    clock = Clock()
    attempts = Attempts(3, clock)
    for _ in range(3):
        attempts.check("192.0.2.1")
        attempts.failed("192.0.2.1")
        clock.now += 10
    with pytest.raises(TooManyRequests, match=r"security\.attempts") as refused:
        attempts.check("192.0.2.1")
    assert refused.value.status == 429
    assert refused.value.retry_after_s == 30
    attempts.check("192.0.2.2")


def test_a_minute_slides():
    """One failure leaves the window: one more may be tried, not three."""
    clock = Clock()
    attempts = Attempts(3, clock)
    for _ in range(3):
        attempts.failed("192.0.2.1")
        clock.now += 10
    clock.now = 1060.0
    assert not is_refused(attempts, "192.0.2.1")
    attempts.failed("192.0.2.1")
    assert is_refused(attempts, "192.0.2.1")
    clock.now = 1071.0
    assert not is_refused(attempts, "192.0.2.1")


def test_zero_is_any_number():
    """Nothing is counted then."""
    attempts = Attempts(0)
    for _ in range(1000):
        attempts.failed("192.0.2.1")
        attempts.check("192.0.2.1")
    assert len(attempts) == 0


def test_one_network_of_ipv6_is_one():
    """Who has one address of a /64 has them all."""
    attempts = Attempts(2)
    attempts.failed("2001:db8::1")
    attempts.failed("2001:db8::ffff:2")
    assert is_refused(attempts, "2001:db8::3")
    assert not is_refused(attempts, "2001:db8:0:1::3")


def test_ipv4_within_ipv6_is_ipv4():
    """Strangers who come by it must not share one network."""
    attempts = Attempts(2)
    attempts.failed("::ffff:192.0.2.1")
    attempts.failed("192.0.2.1")
    assert is_refused(attempts, "::ffff:192.0.2.1")
    assert not is_refused(attempts, "::ffff:192.0.2.2")


@pytest.mark.parametrize("address", ["", "unix", "fe80::1%eth0", "testclient"])
def test_whatever_is_said_of_an_address_counts(address):
    """A name is one, too."""
    attempts = Attempts(1)
    attempts.failed(address)
    assert is_refused(attempts, address)


def test_addresses_have_an_end():
    """Ten thousand; the one that failed longest ago is forgotten, and none keeps more than counts."""
    attempts = Attempts(2)
    attempts.failed("192.0.2.1")
    attempts.failed("192.0.2.2")
    for number in range(12_000):
        if number == 9000:
            attempts.failed("192.0.2.1")
        attempts.failed(f"10.0.{number // 250}.{number % 250}")
    attempts.failed("10.0.47.249")
    for _ in range(100):
        attempts.failed("10.0.47.249")
    assert len(attempts) == 10_000
    assert max(len(failures) for failures in attempts._failures.values()) == 2
    assert is_refused(attempts, "10.0.47.249")
    assert is_refused(attempts, "192.0.2.1")
    assert not is_refused(attempts, "192.0.2.2")
