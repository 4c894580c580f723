from random import Random

from triplewire.clients.backoff import Backoff
from triplewire.clients.settings import ClientSettings

SETTINGS = ClientSettings()


def test_no_wait_is_shorter_than_the_first_or_longer_than_the_longest():
    """However long the broker is away."""
    backoff = Backoff(Random(7), SETTINGS)

    waits = [backoff.next_s() for _ in range(1000)]

    assert min(waits) >= 0.1
    assert 25 < max(waits) <= 30


def test_the_ceiling_doubles():
    """The n-th wait is at most 0.1 s times two to the n."""
    backoff = Backoff(Random(7), SETTINGS)

    for attempt in range(1, 9):
        assert backoff.next_s() <= 0.1 * 2**attempt


def test_clients_do_not_wait_in_step():
    """The jitter is the whole width below the ceiling."""
    waits = {Backoff(Random(seed), SETTINGS).next_s() for seed in range(50)}

    assert len(waits) == 50


def test_the_same_seed_waits_the_same():
    """So that a test knows what will happen."""
    assert Backoff(Random(1), SETTINGS).next_s() == Backoff(Random(1), SETTINGS).next_s()


def test_after_a_reset_the_waits_are_short_again():
    """As at the beginning."""
    backoff = Backoff(Random(7), SETTINGS)
    for _ in range(20):
        backoff.next_s()

    backoff.reset()

    assert backoff.next_s() <= 0.2
