"""Which segments may go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.deltas import examples

from triplewire.broker.config import JournalConfig
from triplewire.broker.journal.retention import StoredSegment, dispensable

SEGMENTS = [StoredSegment(first, first * 1000, 100) for first in (1, 11, 21, 31)]


@pytest.mark.parametrize(
    ("covered", "keep_bytes", "keep_s", "now_ms", "count"),
    [
        (100, 1000, 1000, 40_000, 0),  # neither old nor many
        (100, 250, 1000, 40_000, 2),  # too many: until the rest fits
        (100, 0, 1000, 40_000, 3),  # the newest stays
        (20, 0, 1000, 40_000, 2),  # record 21 is in no snapshot
        (19, 0, 1000, 40_000, 1),  # record 20 is in no snapshot
        (0, 0, 1000, 40_000, 0),
        (100, 1000, 10, 40_000, 2),  # the second ends before 21 s; 30 s is the limit
        (100, 1000, 10, 31_500, 2),
        (100, 1000, 10, 31_000, 1),
        (15, 1000, 10, 40_000, 1),
    ],
)
def test_what_may_go(covered, keep_bytes, keep_s, now_ms, count):
    """Only what is too old or too much, and only what every snapshot holds."""
    config = JournalConfig(keep_bytes=keep_bytes, keep_s=keep_s)
    assert dispensable(SEGMENTS, covered, config, now_ms) == count


@given(st.integers(0, 50), st.integers(0, 500), st.integers(0, 50))
@examples()
def test_never_what_a_restore_needs(covered, keep_bytes, keep_s):
    """The record after every snapshot is always kept."""
    config = JournalConfig(keep_bytes=keep_bytes, keep_s=keep_s)
    kept = SEGMENTS[dispensable(SEGMENTS, covered, config, 50_000) :]
    assert kept[0].first <= covered + 1
