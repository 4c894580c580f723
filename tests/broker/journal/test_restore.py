"""The dataset as it was, as a file."""

from __future__ import annotations

import pytest
from support.deltas import record, replacements

from triplewire.broker.errors import StoreError
from triplewire.broker.journal.quad_lines import read_lines
from triplewire.broker.journal.restore import Restored, restore


def test_any_moment(journal, tmp_path):
    """While the journal is open; one file that any tool reads."""
    record(journal, replacements(5).deltas)
    out = tmp_path / "then.nq"
    for at, world in enumerate(replacements(5).worlds):
        assert restore(tmp_path, out, at) == Restored(at, len(world.quads))
        assert frozenset(read_lines(out.read_bytes())) == world.quads
    assert restore(tmp_path, out).sequence == 5


def test_a_moment_that_is_not_kept_leaves_the_file(journal, tmp_path):
    """As it was; so does a place that can't be written to."""
    out = tmp_path / "then.nq"
    out.write_text("before")
    with pytest.raises(StoreError, match="has not come"):
        restore(tmp_path, out, 1)
    assert out.read_text() == "before"
    with pytest.raises(StoreError, match="can't be written: No such file"):
        restore(tmp_path, tmp_path / "absent" / "then.nq")
