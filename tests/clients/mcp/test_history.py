"""Changes since a reading, bounded, with the gap said."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from triplewire.clients.mcp.history import Change, History


def change(number, rows=1):
    return Change(number, "now", [["x"]] * rows, [])


@given(st.lists(st.integers(1, 6) | st.none(), max_size=20), st.integers(1, 5), st.integers(1, 10), st.data())
def test_what_is_kept_and_the_gap_are_together_all_that_was(sizes, most_changes, most_rows, data):
    """None is missing, none is there twice, and the limits hold."""
    history = History(most_changes, most_rows)
    for number, rows in enumerate(sizes, 1):
        if rows is None:
            history.lost()
        else:
            history.add(change(number, rows))
    assert history.number == len(sizes)
    since = data.draw(st.integers(0, len(sizes)))
    gap = history.gap(since)
    kept = [each.number for each in history.since(since)]
    dropped = [] if gap is None else [*range(gap["from"], gap["to"] + 1)]
    assert dropped + kept == [*range(since + 1, len(sizes) + 1)]
    assert gap is None or dropped
    all_kept = list(history.since(0))
    assert len(all_kept) <= most_changes
    assert sum(each.rows for each in all_kept) <= most_rows


def test_a_change_that_can_not_be_told_takes_a_number():
    """And what came before it is not told as if nothing had been between."""
    history = History(10, 10)
    history.add(change(1))
    history.lost()
    history.add(change(3))
    assert [each.number for each in history.since(0)] == [3]
    assert (history.gap(0)["from"], history.gap(0)["to"]) == (1, 2)
    assert history.gap(2) is None
