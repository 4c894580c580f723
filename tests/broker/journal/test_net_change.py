"""Many changes as one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.deltas import World, examples, histories

from triplewire.broker.journal.net_change import NetChange
from triplewire.broker.journal.quad_lines import graph_text, lines, read_graph, read_lines
from triplewire.broker.journal.record import Record


def records(history):
    return [Record.of(delta, number, 0, "") for number, delta in enumerate(history.deltas, 1)]


def carried_out(net, world):
    """What the dataset is after a net change."""
    kept = net.without_named(lines(world.quads))
    text = kept + b"".join(line + b"\n" for line in net.there())
    named = dict.fromkeys(map(graph_text, world.graphs), True) | net.graphs
    return World(
        frozenset(read_lines(text)),
        frozenset(read_graph(name) for name, is_there in named.items() if is_there),
    )


@given(histories(), st.data())
@examples()
def test_redone_from_any_state_between(history, data):
    """Replaying what the dataset already has changes nothing: that is why a snapshot may be late."""
    held = data.draw(st.integers(0, len(history.deltas)))
    since = data.draw(st.integers(0, held))
    net = NetChange()
    for record in records(history)[since:]:
        net.redo(record)
    assert carried_out(net, history.worlds[held]) == history.worlds[-1]


@given(histories(), st.data())
@examples()
def test_undone_from_any_state_after(history, data):
    """The quads are exactly those of before; of graphs at least all that were there."""
    at = data.draw(st.integers(0, len(history.deltas)))
    held = data.draw(st.integers(at, len(history.deltas)))
    net = NetChange()
    for record in records(history)[at:]:
        net.undo(record)
    found = carried_out(net, history.worlds[held])
    assert found.quads == history.worlds[at].quads
    assert found.graphs >= history.worlds[at].graphs


@given(histories(), st.data())
@examples()
def test_redone_and_undone(history, data):
    """A snapshot somewhere around the moment that is looked for."""
    at, held = (data.draw(st.integers(0, len(history.deltas))) for _ in range(2))
    since = data.draw(st.integers(0, min(at, held)))
    net = NetChange()
    for record in records(history)[since:]:
        if record.sequence <= at:
            net.redo(record)
        else:
            net.undo(record)
    assert carried_out(net, history.worlds[held]).quads == history.worlds[at].quads
