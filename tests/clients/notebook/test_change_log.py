from datetime import UTC, datetime

from pyoxigraph import Literal

from triplewire.clients.notebook.change_log import Change, ChangeLog, changes_frame

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def change(number, added=(), removed=()):
    rows = ([{"n": Literal(value)} for value in values] for values in (added, removed))
    return Change(number, NOON, *rows)


def test_the_oldest_changes_go_first():
    """As many as there are rows too many."""
    log = ChangeLog(3)
    for number in range(4):
        log.add(change(number, [number], [number - 1] if number == 3 else []))

    assert [held.number for held in log.held()] == [2, 3]
    assert log.dropped == 2


def test_a_change_that_is_too_large_is_not_held():
    """Nor what was before it: there would be a hole."""
    log = ChangeLog(3)
    log.add(change(0, [1]))
    log.add(change(1, range(4)))
    log.add(change(2, [1]))

    assert [held.number for held in log.held()] == [2]
    assert log.dropped == 2


def test_a_frame_of_changes():
    """What came before what went; the index is beside the variables, whatever their names."""
    made = changes_frame(("n", "at"), [change(0, [1, 1]), change(1, [2], [1])])

    assert made["n"].tolist() == [1, 1, 2, 1]
    assert made["at"].isna().all()
    assert made.index.names == ["number", "at", "change"]
    assert made.index.get_level_values("change").tolist() == ["+", "+", "+", "-"]
    assert made.index.get_level_values("number").tolist() == [0, 0, 1, 1]
    assert set(made.index.get_level_values("at")) == {NOON}


def test_no_changes():
    """The same columns and index."""
    made = changes_frame(("n",), [])

    assert made.empty
    assert made.index.names == ["number", "at", "change"]
    assert str(made.index.get_level_values("at").dtype) == "datetime64[us, UTC]"
