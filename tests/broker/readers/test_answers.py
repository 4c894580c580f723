"""A process answers as this one would."""

from __future__ import annotations

import pyoxigraph
import pytest
from pyoxigraph import NamedNode
from support.readers import EX, GRAPH, File, question, wanted

from triplewire.broker.errors import EngineError, NotAcceptable
from triplewire.broker.model import QueryForm
from triplewire.broker.wire.media import CSV, GRAPHS, JSON, N_TRIPLES, RESULTS, TURTLE

SELECTS = [
    "SELECT * { ?s ?p ?o } ORDER BY STR(?s) STR(?o)",
    "SELECT ?g ?s { GRAPH ?g { ?s :p ?o } } ORDER BY ?g STR(?s) STR(?o)",
    "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    "SELECT ?s { ?s :nothing ?o }",
    "SELECT ?o ?unbound { :a :p ?o }",
    'SELECT (CONCAT("é", STR(?o)) AS ?x) { :a :p ?o }',
]
ASKS = ["ASK { :a :p '0' }", "ASK { :a :p 'never' }"]
CONSTRUCTS = [
    "CONSTRUCT { ?s :q ?o } WHERE { ?s :p ?o }",
    "DESCRIBE :a",
    "CONSTRUCT WHERE { ?s :nothing ?o }",
]


def here(world, text, format_, **options):
    """What Oxigraph says in this process."""
    asked = question(text, **options)
    sink = File()
    world.store.query(asked.text, **asked.options()).serialize(sink, format_.writer)
    return sink.getvalue()


@pytest.mark.parametrize("format_", RESULTS, ids=lambda format_: format_.media_type)
def test_solutions_and_booleans(world, format_):
    """In each format, byte for byte."""
    for text in SELECTS + ASKS:
        assert world.answer(text, format_) == here(world, text, format_), text
    assert world.pool.statistics().forks == 1


@pytest.mark.parametrize("format_", GRAPHS, ids=lambda format_: format_.media_type)
def test_graphs(world, format_):
    """In each format; a graph has no order."""
    for text in CONSTRUCTS:
        found = pyoxigraph.parse(world.answer(text, format_), format=format_.writer)
        expected = pyoxigraph.parse(here(world, text, format_), format=format_.writer)
        assert sorted(map(str, found)) == sorted(map(str, expected)), text


@pytest.mark.parametrize(
    "options",
    [
        {"union_default_graph": True},
        {"default_graphs": (GRAPH,), "named_graphs": ()},
        {"default_graphs": (), "named_graphs": (GRAPH,)},
        {"default_graphs": (GRAPH, NamedNode(f"{EX}h")), "named_graphs": (GRAPH,)},
        {"default_graphs": (), "named_graphs": (), "union_default_graph": True},
    ],
)
def test_datasets(world, options):
    """The graphs that a request names, and the union."""
    for text in SELECTS[:3]:
        assert world.answer(text, **options) == here(world, text, JSON, **options)


def test_blank_nodes_keep_their_labels(world):
    """So that answers can be compared."""
    assert world.values("SELECT ?s ?o { ?s :p ?o FILTER ISBLANK(?s) }") == ["_:x,_:y"]


def test_the_sink_is_told_the_form(world):
    """Once, before the first byte; a word in the prologue or in a comment does not mislead."""
    for text, form in [
        ("SELECT * {}", QueryForm.SELECT),
        ("ASK {}", QueryForm.ASK),
        ("DESCRIBE :a", QueryForm.CONSTRUCT),
        ("# SELECT\nCONSTRUCT {} WHERE {}", QueryForm.CONSTRUCT),
        ("PREFIX ask: <http://x/> SELECT * {}", QueryForm.SELECT),
    ]:
        sink = File()
        world.pool.answer(question(text), lambda form: N_TRIPLES if form.is_graph else CSV, sink, wanted)
        assert sink.form is form
        assert sink.format is (N_TRIPLES if form.is_graph else CSV)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?s ?p",
        "",
        "SELECT ?x { BIND(<http://example.org/f>(1) AS ?x) }",
        "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
        "SELECT \N{GREEK SMALL LETTER ALPHA} {}",
    ],
)
def test_errors_are_the_same(world, text):
    """The class and the message that Oxigraph raises here; the process can go on."""
    with pytest.raises((SyntaxError, ValueError, RuntimeError, OSError)) as expected:
        here(world, text, JSON)
    with pytest.raises((SyntaxError, ValueError, RuntimeError, OSError)) as found:
        world.answer(text, JSON)
    assert type(found.value).__name__ in {kind.__name__ for kind in type(expected.value).__mro__[:2]}
    assert str(found.value) == str(expected.value)
    assert world.answer("ASK {}", CSV) == b"true"
    assert world.pool.statistics().forks == 1


def test_an_error_in_the_middle(make):
    """What was written before it came is written; then it is raised, and the process goes on."""
    world = make([])
    text = (
        "SELECT * { VALUES ?x { 1 2 3 4 5 6 7 8 } VALUES ?y { 1 2 3 4 5 6 7 8 } VALUES ?z { 1 2 3 4 5 6 7 8 }"
        " { SELECT ?w { VALUES ?w { 1 2 } } } "
        " BIND(IF(?x * ?y * ?z * ?w = 1024, <urn:f>(1), 0) AS ?bad) }"
    )
    with pytest.raises(RuntimeError, match="urn:f"):
        world.answer(text)
    assert world.answer("ASK {}", CSV) == b"true"


def test_a_format_that_does_not_suit(world):
    """A writer for graphs and an answer of rows: `choose` must not, and it is no sender's failure."""
    with pytest.raises(EngineError, match="TypeError"):
        world.answer("SELECT * {}", TURTLE)
    assert world.answer("ASK {}", CSV) == b"true"


@pytest.mark.parametrize("text", ["SELECT * { ?s ?p ?o }", "ASK {}", "CONSTRUCT WHERE { ?s ?p ?o }"])
def test_nothing_suits(world, text):
    """What `choose` raises is raised, the process is told to forget, and kept."""

    def choose(form):
        raise NotAcceptable(form.value)

    for _ in range(3):
        with pytest.raises(NotAcceptable, match=text.split()[0]):
            world.pool.answer(question(text), choose, File(), wanted)
        assert len(world.values("SELECT ?o { ?s ?p ?o }")) == 3
    assert world.pool.statistics().forks == 1


def test_a_syntax_error_comes_first(world):
    """Where the text is wrong and nothing suits, the text is what is told of."""

    def choose(form):
        raise NotAcceptable(form.value)

    with pytest.raises(SyntaxError, match="error at"):
        world.pool.answer(question("SELECT"), choose, File(), wanted)


def test_a_yes_or_no(world):
    """As a bool; anything else is refused."""
    assert world.pool.ask(question(ASKS[0]), wanted) is True
    assert world.pool.ask(question(ASKS[1]), wanted) is False
    with pytest.raises(ValueError, match="not an ASK but a SELECT"):
        world.pool.ask(question("SELECT * {}"), wanted)
    assert world.pool.statistics().forks == 1


def test_a_large_answer(make):
    """Comes in pieces, whole."""
    world = make([])
    numbers = " ".join(map(str, range(200)))
    text = f"SELECT * {{ VALUES ?x {{ {numbers} }} VALUES ?y {{ {numbers} }} BIND('{'x' * 50}' AS ?z) }}"
    sizes = []

    class Sink(File):
        def write(self, data):
            sizes.append(len(data))
            return super().write(data)

    sink = Sink()
    world.pool.answer(question(text), lambda _: CSV, sink, wanted)
    assert sink.getvalue() == here(world, text, CSV)
    assert len(sizes) > 10 and min(sizes[:-1]) >= 64 * 1024
