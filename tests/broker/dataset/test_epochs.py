"""Whose records are whose."""

from __future__ import annotations

from triplewire.broker.dataset.epochs import Epochs


def test_records_of_an_earlier_epoch_are_ours_up_to_where_the_next_began(tmp_path):
    """What came after that was lost, and its numbers were given to others."""
    first = Epochs.begin(tmp_path, 0)
    second = Epochs.begin(tmp_path, 10)
    third = Epochs.begin(tmp_path, 7)
    assert len({first.current, second.current, third.current}) == 3
    assert third.holds(third.current, 1000)
    assert third.holds(second.current, 7)
    assert not third.holds(second.current, 8)
    assert third.holds(first.current, 7)
    assert not third.holds(first.current, 10)


def test_nobody_elses_are_ours(tmp_path):
    """Nor any where the file is lost or not to be read."""
    first = Epochs.begin(tmp_path, 5)
    assert not first.holds("unknown", 0)
    (tmp_path / "epochs.json").write_text("{")
    assert not Epochs.begin(tmp_path, 5).holds(first.current, 1)


def test_they_are_bounded(tmp_path):
    """The oldest are forgotten."""
    names = [Epochs.begin(tmp_path, number).current for number in range(1010)]
    last = Epochs.begin(tmp_path, 2000)
    assert not last.holds(names[0], 0)
    assert last.holds(names[-1], 0)
