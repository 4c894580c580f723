"""Quotas: rates with a burst, what is open at once, and a table that does not grow; with a clock of the test's own."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import TooManyRequests
from triplewire.gates.quotas import Holdings, Quotas

FEW = replace(
    LimitsConfig(),
    client_requests_s=10.0,
    client_burst=5,
    client_queries=2,
    client_subscriptions=3,
    client_sockets=1,
    client_bytes_s=1000.0,
    address_requests_s=4.0,
    address_burst=2,
    address_queries=1,
    address_bytes_s=0.0,
)
ONLY_CLIENTS = replace(FEW, address_requests_s=0.0, address_queries=0)
HERE = "192.0.2.1"


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def refused(call, *arguments):
    """The error of a call that must be refused."""
    with pytest.raises(TooManyRequests) as found:
        call(*arguments)
    return found.value


def allowed(quotas, client, address, most=1000):
    """How many requests come through now."""
    for number in range(most):
        try:
            quotas.request(client, address)
        except TooManyRequests:
            return number
    return most


def test_a_burst_comes_through_and_then_the_rate(clock):
    """5 at once, then 10 a second; the wait is told."""
    quotas = Quotas(ONLY_CLIENTS, clock)

    assert allowed(quotas, "a", HERE) == 5
    clock.now += 0.1
    assert allowed(quotas, "a", HERE) == 1
    clock.now += 100
    assert allowed(quotas, "a", HERE) == 5
    error = refused(quotas.request, "a", HERE)
    assert error.description == "this client sends more than 10 requests a second (limits.client_requests_s)"
    assert (error.code, error.status, error.retry_after_s) == ("too_many_requests", 429, 1)


def test_who_waits_as_long_as_told_comes_through(clock):
    """Retry-After is no guess."""
    quotas = Quotas(replace(ONLY_CLIENTS, client_requests_s=0.1, client_burst=1), clock)
    quotas.request("a", None)
    clock.now += 2
    wait = refused(quotas.request, "a", None).retry_after_s

    assert wait == 8
    clock.now += wait
    quotas.request("a", None)


def test_one_client_does_not_spend_what_is_another_s(clock):
    """Nor does one that is refused spend anything."""
    quotas = Quotas(ONLY_CLIENTS, clock)
    assert allowed(quotas, "a", HERE) == 5
    for _ in range(100):
        refused(quotas.request, "a", HERE)

    assert allowed(quotas, "b", HERE) == 5
    clock.now += 0.1
    assert allowed(quotas, "a", HERE) == 1


def test_an_address_is_counted_whoever_is_there(clock):
    """And what it refuses is not counted for the client."""
    quotas = Quotas(FEW, clock)
    quotas.request("a", HERE)
    quotas.request("", HERE)
    error = refused(quotas.request, "b", HERE)

    assert "this address sends more than 4 requests a second (limits.address_requests_s)" in str(error)
    for _ in range(100):
        refused(quotas.request, "a", HERE)
    assert allowed(quotas, "a", None) == 4


def test_where_nobody_says_who_they_are_the_defaults_limit_nothing(clock):
    """A benchmark, a dashboard: one address, no client_id."""
    quotas = Quotas(LimitsConfig(), clock)

    assert allowed(quotas, "", HERE, most=20_000) == 20_000
    for what in ("queries", "subscriptions", "sockets"):
        for _ in range(10_000):
            quotas.take(what, "", HERE)
        quotas.give(what, "", HERE, 10_000)
    assert allowed(quotas, "a", HERE, most=20_000) == LimitsConfig().client_burst


def test_bytes_are_paid_off_before_the_next_request(clock):
    """1,000 a second: one body of 6,000 makes its sender wait, and each byte counts once."""
    quotas = Quotas(ONLY_CLIENTS, clock)
    quotas.request("a", HERE)
    quotas.received("a", HERE, 6000)
    error = refused(quotas.request, "a", HERE)

    assert "this client has sent more than 1000 bytes a second (limits.client_bytes_s)" in str(error)
    assert error.retry_after_s == 5
    clock.now += 5
    quotas.request("a", HERE)
    quotas.request("b", HERE)


@pytest.mark.parametrize(("what", "most"), [("queries", 2), ("subscriptions", 3), ("sockets", 1)])
def test_so_many_are_open_at_once(clock, what, most):
    """And when one is given back, another may be taken."""
    quotas = Quotas(ONLY_CLIENTS, clock)
    for _ in range(most):
        quotas.take(what, "a", HERE)
    error = refused(quotas.take, what, "a", HERE)

    assert error.description == (
        f"this client has {most} {what} open, and may have no more (limits.client_{what})"
    )
    quotas.take(what, "b", HERE)
    quotas.give(what, "a", HERE)
    quotas.take(what, "a", HERE)
    quotas.give(what, "a", HERE, most)
    quotas.take(what, "a", HERE)


def test_what_an_address_refuses_is_not_taken_of_the_client(clock):
    """Both or none."""
    quotas = Quotas(FEW, clock)
    quotas.take("queries", "a", HERE)
    for _ in range(5):
        refused(quotas.take, "queries", "a", HERE)

    quotas.take("queries", "a", "192.0.2.2")
    assert "client_queries" in str(refused(quotas.take, "queries", "a", "192.0.2.3"))


def test_what_a_block_holds_is_given_back_however_it_ends(clock):
    """A `with` that is refused holds nothing."""
    quotas = Quotas(ONLY_CLIENTS, clock)
    with pytest.raises(KeyError), quotas.holding("sockets", "a", HERE):
        raise KeyError
    with quotas.holding("sockets", "a", HERE):
        with pytest.raises(TooManyRequests), quotas.holding("sockets", "a", HERE):
            pass
        refused(quotas.take, "sockets", "a", HERE)
    quotas.take("sockets", "a", HERE)


def test_what_a_connection_holds_is_given_back_at_its_end(clock):
    """Of each client that spoke on it; a second message takes no second socket."""
    quotas = Quotas(replace(ONLY_CLIENTS, address_sockets=2), clock)
    one = Holdings(quotas, HERE)
    for client in ("a", "b", "a"):
        one.message(client, 10)
        one.subscribe(client)
    one.subscribe("a")
    assert "client_subscriptions" in str(refused(one.subscribe, "a"))
    one.unsubscribe("a")
    one.subscribe("a")
    other = Holdings(quotas, HERE)
    assert "client_sockets" in str(refused(other.message, "a", 10))
    assert "address_sockets" in str(refused(Holdings, quotas, HERE))
    for connection in (one, other, one):
        connection.close()
    one.unsubscribe("a")

    assert quotas._clients is not None
    assert quotas._addresses is not None
    assert not quotas._clients._busy
    assert not quotas._addresses._busy


def test_messages_are_requests(clock):
    """With a rate, and their bytes."""
    connection = Holdings(Quotas(ONLY_CLIENTS, clock), None)
    for _ in range(5):
        connection.message("a", 1)
    assert "client_requests_s" in str(refused(connection.message, "a", 1))
    clock.now += 10
    connection.message("a", 5000)
    clock.now += 1
    assert "client_bytes_s" in str(refused(connection.message, "a", 1))


def test_the_table_forgets_the_oldest_but_none_that_has_something_open(clock):
    """A stranger with many addresses fills no memory, and frees nobody of what they hold."""
    quotas = Quotas(FEW, clock, known=10)
    quotas.take("queries", "holder", HERE)
    assert allowed(quotas, "spent", None) == 5
    for number in range(1000):
        quotas.request(f"c{number}", f"10.0.{number // 250}.{number % 250}")

    assert quotas._clients is not None
    assert quotas._addresses is not None
    assert len(quotas._clients._idle) == len(quotas._addresses._idle) == 10
    assert set(quotas._clients._busy) == {"holder"}
    assert "address_queries" in str(refused(quotas.take, "queries", "x", HERE))
    quotas.give("queries", "holder", HERE)
    assert not quotas._clients._busy
    assert len(quotas._clients._idle) == 10


def test_who_was_heard_of_last_is_not_forgotten(clock):
    """Least recently used goes first."""
    quotas = Quotas(ONLY_CLIENTS, clock, known=2)
    assert allowed(quotas, "a", None) == 5
    quotas.request("b", None)
    refused(quotas.request, "a", None)
    quotas.request("c", None)

    refused(quotas.request, "a", None)


@given(st.lists(st.floats(0, 1), max_size=200), st.integers(1, 20), st.integers(1, 50))
def test_no_more_than_burst_and_rate_come_through_in_any_time(gaps, burst, rate):
    """Whenever they come: of a window of t seconds, burst + rate * t."""
    clock = Clock()
    quotas = Quotas(replace(ONLY_CLIENTS, client_requests_s=float(rate), client_burst=burst), clock)
    came: list[float] = []
    for gap in gaps:
        clock.now += gap / rate
        if allowed(quotas, "a", None, most=1):
            came.append(clock.now)

    for first, start in enumerate(came):
        for last in range(first, len(came)):
            assert last - first + 1 <= burst + rate * (came[last] - start) + 1e-6


def test_a_request_is_counted_in_a_few_microseconds():
    """The common path: a client that is known, and its address."""
    limits = replace(LimitsConfig(), client_requests_s=1e9, client_burst=10**6, address_requests_s=1e9)
    quotas, none = Quotas(limits), Quotas(LimitsConfig())

    def cost(call):
        best = 1.0
        for _ in range(20):
            start = time.perf_counter()
            for _ in range(1000):
                call()
            best = min(best, (time.perf_counter() - start) / 1000)
        return best * 1e6

    both = cost(lambda: quotas.request("a", HERE))
    nothing = cost(lambda: none.request("", HERE))
    print(f"{both:.2f} us with a client and an address, {nothing:.2f} us without limits")
    assert nothing < both < 20
