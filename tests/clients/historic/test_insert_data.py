import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Store, serialize

from triplewire.broker.planner import plain_data_quads
from triplewire.clients.historic.insert_data import UnloadableLine, insert_data

TEXTS = st.text(max_size=20) | st.sampled_from(
    ["{", "} }", "PREFIX a: <b>", "version 1", "a\\u007B", "@base <a> ."]
)
IRIS = st.sampled_from(["http://a.example/x", "urn:prefix:base", "http://a.example/version/1", "urn:é"]).map(
    NamedNode
)
LITERALS = st.one_of(
    TEXTS.map(Literal),
    TEXTS.map(lambda text: Literal(text, language="en-GB")),
    TEXTS.map(lambda text: Literal(text, datatype=NamedNode("urn:base"))),
)
QUADS = st.builds(
    lambda s, p, o, g: Quad(s, p, o, g) if g else Quad(s, p, o),
    IRIS,
    IRIS,
    IRIS | LITERALS,
    st.none() | st.sampled_from(["g:1", "g:2"]).map(NamedNode),
)


def line_of(quad):
    return serialize([quad], format=RdfFormat.N_QUADS)


@given(st.lists(QUADS, max_size=20))
def test_the_updates_add_the_quads_and_nothing_else(quads):
    """Whatever characters they have."""
    store = Store()
    for update in insert_data([line_of(quad) for quad in quads]):
        store.update(update.decode())

    assert set(store) == set(quads)


@given(st.lists(QUADS, min_size=60, max_size=60))
def test_a_broker_reads_them_the_fast_way(quads):
    """Braces and words that could be its syntax are escaped; but behind an @ they may be a language."""
    quads = [quad for quad in quads if "@base" not in str(quad)]
    lines = [line_of(Quad(quad.subject, quad.predicate, quad.object, NamedNode("g:1"))) for quad in quads]
    (update,) = insert_data(lines)
    found = plain_data_quads(update.decode(), "", "http://localhost/")

    assert found is not None
    assert {line_of(quad) for quad in found[1]} == set(lines)


def test_small_graphs_go_together():
    """One request costs more than looking at a few lines."""
    assert len(insert_data([b"<a:s> <a:p> <a:o> <g:%d> .\n" % n for n in range(100)])) == 1
    assert len(insert_data([b"<a:s> <a:p> <a:%d> <g:%d> .\n" % (n, n % 2) for n in range(100)])) == 2


def test_triples_go_into_the_graph_that_is_given():
    """And quads where they belong."""
    store = Store()
    for update in insert_data(
        [b"<a:s> <a:p> 'x' .\n".replace(b"'", b'"'), b"<a:s> <a:p> <a:o> <g:1> .\n"], "g:2"
    ):
        store.update(update.decode())

    assert {quad.graph_name.value for quad in store} == {"g:1", "g:2"}


def test_empty_lines_and_comments_are_none():
    """As N-Quads has them."""
    assert insert_data([b"\n", b"# a comment\n", b" \t\r\n"]) == []
    assert insert_data([b'<a:s>\t<a:p> "x"<g:1>. # why\r\n']) == [
        b'INSERT DATA {\nGRAPH <g:1> {\n<a:s>\t<a:p> "x" .\n}\n}'
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'_:b <a:p> "x" .\n', "blank node"),
        (b"<a:s> <a:p> _:b .\n", "blank node"),
        (b'<a:s> <a:p> "x" _:g .\n', "blank node"),
        (b'<a:s> <a:p> "x"\n', "no quad"),
        (b'<a:s> "p" "x" .\n', "no quad"),
        (b'<a:s> <a:p> "x" . } ; DROP ALL ; INSERT DATA {\n', "no quad"),
        (b'<a:s> <a:p> "x" . <a:s> <a:p> "y" .\n', "no quad"),
        (b'<a:s> <a:p> "\xff" \n', "no quad"),
    ],
)
def test_what_can_not_be_sent_is_named(line, reason):
    """By its place."""
    with pytest.raises(UnloadableLine, match=reason) as caught:
        insert_data([b"<a:s> <a:p> <a:o> .\n", line])

    assert caught.value.index == 1
