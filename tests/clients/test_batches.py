from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Store, Triple, parse

from triplewire.clients.batches import Unaddressable, batches

P = NamedNode("http://example.org/p")
nodes = st.one_of(
    st.integers(0, 8).map(lambda n: BlankNode(f"b{n}")), st.integers(0, 3).map(lambda n: NamedNode(f"a:{n}"))
)
objects = st.one_of(nodes, st.integers(0, 3).map(Literal), st.builds(Triple, nodes, st.just(P), nodes))
graphs = st.one_of(st.just(DefaultGraph()), st.sampled_from([NamedNode("g:1"), NamedNode("g:2")]))
quads = st.lists(st.builds(Quad, nodes, st.just(P), objects, graphs), max_size=30, unique=True)


def lines(batch):
    return [(graph, line) for graph, found in batch.lines.items() for line in found]


def labels(batch):
    return {
        node for _, line in lines(batch) for node in line.replace(")", " ").split() if node.startswith("_:")
    }


@given(quads, st.integers(1, 400))
def test_no_blank_node_is_in_two_batches(quads, size):
    """So it stays one node."""
    seen = Counter(label for batch in batches(quads, size=size) for label in labels(batch))

    assert all(times == 1 for times in seen.values())


@given(quads, st.integers(1, 400))
def test_each_quad_is_in_one_batch(quads, size):
    """None is lost, and none is sent twice."""
    sent = Counter(line for batch in batches(quads, size=size) for line in lines(batch))
    graph = {NamedNode("g:1"): "g:1", NamedNode("g:2"): "g:2", DefaultGraph(): None}

    assert sent == Counter((graph[quad.graph_name], f"{quad.triple} .") for quad in quads)


@given(quads)
def test_an_update_inserts_what_the_batch_holds(quads):
    """In one request, whatever graphs it spans."""
    expected, loaded = Store(), Store()
    expected.extend(quads)

    for batch in batches(quads):
        assert batch.count == len(lines(batch))
        loaded.update(batch.insert_data())

    # Labels are renamed, so compare what does not depend on them.
    assert len(loaded) == len(expected)
    assert Counter(str(quad.graph_name) for quad in loaded) == Counter(
        str(quad.graph_name) for quad in expected
    )


def test_batches_are_of_bounded_size():
    """Where no blank nodes hold them together."""
    found = list(batches([Quad(P, P, Literal(number)) for number in range(1000)], size=1000))

    assert len(found) > 50
    assert all(1000 <= batch.size < 1200 for batch in found[:-1])


def test_a_chain_of_blank_nodes_is_one_batch():
    """However long, and in whatever order it comes."""
    chain = [Quad(BlankNode(f"c{n}"), P, BlankNode(f"c{n + 1}")) for n in range(20_000)]

    found = list(batches([*chain[::2], *chain[1::2]], size=1000))

    assert [batch.count for batch in found] == [20_000]


def test_small_components_share_a_batch():
    """Not a request for each."""
    pairs = [Quad(BlankNode(f"c{n}"), P, Literal(n)) for n in range(100)]

    assert [batch.count for batch in batches(pairs)] == [100]


def test_triples_of_no_graph_go_where_they_are_told():
    """Those of a graph stay in it."""
    quads = parse(b"<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:o> <g:1> .", RdfFormat.N_QUADS)

    (batch,) = batches(quads, "g:2")

    assert set(batch.lines) == {"g:1", "g:2"}
    assert batch.triples("g:2") == b"<a:s> <a:p> <a:o> .\n"


def test_a_graph_that_no_request_can_name_is_refused():
    """A blank node means nothing to the broker."""
    with pytest.raises(Unaddressable, match="_:g"):
        list(batches([Quad(P, P, P, BlankNode("g"))]))
