import dataclasses

from triplewire.clients import ClientSettings
from triplewire.clients.streams import StreamSettings


def test_they_are_those_of_every_client_and_more():
    """With the same defaults."""
    ours, theirs = dataclasses.asdict(StreamSettings()), dataclasses.asdict(ClientSettings())

    assert theirs.items() < ours.items()


def test_silence_is_longer_than_a_servers_keep_alive():
    """Which comes after ten minutes."""
    assert StreamSettings().silence_s > 600
