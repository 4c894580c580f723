"""An open journal in a directory of its own."""

from __future__ import annotations

import pytest

from triplewire.broker.config import JournalConfig
from triplewire.broker.journal.journal import Journal


@pytest.fixture
def journal(tmp_path):
    """Empty, with segments of a few records."""
    one = Journal.open(tmp_path, JournalConfig(segment_bytes=1000))
    yield one
    one.close()
