"""Who this process is at another server, as each section of the configuration says it."""

from __future__ import annotations

import asyncio
import json
import stat

import pytest
from support.secured import SecuredBroker

from triplewire.broker.config import FollowConfig, PathsConfig, StreamConfig
from triplewire.broker.overlay_config import RelayConfig, TrackerConfig
from triplewire.gates.identity import tokens_at


@pytest.mark.parametrize("section", [FollowConfig, RelayConfig, StreamConfig, TrackerConfig])
def test_nobody_in_particular(section):
    """Without an identity there are no tokens."""
    assert tokens_at("http://localhost:8000", section(), PathsConfig()) is None


@pytest.mark.parametrize("section", [FollowConfig, RelayConfig, StreamConfig, TrackerConfig])
def test_it_logs_in(section, tmp_path):
    """At a broker whose certificate the section names, and keeps what it is given in the section's file."""
    kept = tmp_path / "credentials.json"
    with SecuredBroker(tmp_path, permissions='[clients.keeper]\nscopes = ["query"]\n') as broker:
        config = section(identity="keeper", credentials=str(kept), ca=str(broker.authority.ca))
        tokens = tokens_at(broker.running.https + "/", config, PathsConfig())
        assert tokens is not None
        token = asyncio.run(tokens.token_async())
        assert token.text.count(".") == 2
        assert json.loads(kept.read_text())
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
