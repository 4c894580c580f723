from dataclasses import FrozenInstanceError

import pytest

from triplewire.clients import ClientSettings


def test_settings_are_made_once():
    """Many clients may share them."""
    settings = ClientSettings(timeout_s=5)

    with pytest.raises(FrozenInstanceError):
        settings.timeout_s = 6


def test_the_waits_of_a_reconnection_are_bounded():
    """From a tenth of a second to half a minute, doubling."""
    settings = ClientSettings()

    assert (settings.backoff_first_s, settings.backoff_factor, settings.backoff_longest_s) == (0.1, 2.0, 30.0)


def test_first_results_may_be_large():
    """They are one message."""
    assert ClientSettings().max_message_bytes == 64 * 1024 * 1024
