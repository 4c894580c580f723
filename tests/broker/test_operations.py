"""Updates taken apart: as many operations as Oxigraph carries out, and each what it is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import (
    BlankNode,
    CanonicalizationAlgorithm,
    Dataset,
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    Store,
)
from support.deltas import EX, examples
from support.sparql_strategies import PROLOGUE, updates

from triplewire.broker import operations
from triplewire.broker.errors import SparqlSyntaxError
from triplewire.broker.names import in_full
from triplewire.broker.operations import (
    All,
    Clear,
    Create,
    Data,
    Load,
    Modify,
    OperationReader,
    Transfer,
    read_operations,
)
from triplewire.broker.prologues import with_one_prologue
from triplewire.broker.tokens import shape, tokens

BASE = "http://localhost/"
A, G, H = (NamedNode(f"{EX}{name}") for name in "agh")
DEFAULT = DefaultGraph()


def read(text):
    found = read_operations(PROLOGUE + text, {}, BASE)
    return None if found is None else found[1]


def one(text):
    (operation,) = read(text)
    return operation


# --- what each is -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("CLEAR ALL", Clear(All.ALL, drop=False, silent=False)),
        ("clear silent named", Clear(All.NAMED, drop=False, silent=True)),
        ("DROP DEFAULT", Clear(DEFAULT, drop=True, silent=False)),
        ("DROP SILENT GRAPH :g", Clear(G, drop=True, silent=True)),
        ("CREATE GRAPH :g", Create(G, silent=False)),
        ("CREATESILENTGRAPH<http://example.org/g>", Create(G, silent=True)),
        ("ADD DEFAULT TO :g", Transfer("ADD", DEFAULT, G, silent=False)),
        ("COPY SILENT GRAPH :g TO DEFAULT", Transfer("COPY", G, DEFAULT, silent=True)),
        ("move :g to graph :h", Transfer("MOVE", G, H, silent=False)),
        ("LOAD <http://x/doc>", Load(NamedNode("http://x/doc"), DEFAULT, silent=False)),
        ("LOAD SILENT <doc> INTO GRAPH :g", Load(NamedNode(f"{BASE}doc"), G, silent=True)),
    ],
)
def test_the_operations_on_graphs(text, operation):
    """Names are resolved, keywords in any case and glued."""
    assert one(text) == operation


@pytest.mark.parametrize(("word", "insert"), [("INSERT", True), ("delete", False)])
def test_data(word, insert):
    """Its quads are in its template."""
    operation = one(f"{word} DATA {{ :a :p 1 . GRAPH :g {{ :a :p 2 }} }}")
    assert isinstance(operation, Data)
    assert operation.insert is insert
    p = NamedNode(f"{EX}p")
    assert set(operation.template.fill({}, DEFAULT)) == {Quad(A, p, Literal(1)), Quad(A, p, Literal(2), G)}


def test_a_modification():
    """Its pattern is text with the braces, its dataset are terms."""
    operation = one(
        "WITH :g DELETE { ?s :p ?o } INSERT { ?s :q ?x } USING :h USING NAMED <n> WHERE { ?s :p ?o # }\n '}' }"
    )
    assert isinstance(operation, Modify)
    assert operation.where == "{ ?s :p ?o # }\n '}' }"
    assert operation.variables == ("s", "o", "x")
    assert (operation.with_graph, operation.using, operation.using_named) == (
        G,
        (H,),
        (NamedNode(f"{BASE}n"),),
    )


def test_delete_where_is_its_own_template():
    """The pattern and what is deleted are one text."""
    operation = one("DELETE WHERE { ?s :p ?o . GRAPH ?g { ?o ?q 1 } }")
    assert operation.insert is None
    assert operation.where == "{ ?s :p ?o . GRAPH ?g { ?o ?q 1 } }"
    assert set(operation.variables) == {"s", "o", "g", "q"}


def test_only_the_declarations_that_a_pattern_needs():
    """A base always, a prefix where its name occurs: also where only Oxigraph sees a name."""
    text = """BASE <http://b/> PREFIX a: <http://a/> PREFIX b: <b#> PREFIX c: <http://c/> PREFIX x: <http://x/>
        DELETE { ?s a:p ?o } INSERT { ?s b:p ?o } WHERE { ?s b:q ?o FILTER(?o<c:a&&x:b>?s) }"""
    prologue, (operation,) = read_operations(text, {"d": "http://d/"}, BASE)
    assert (
        operation.prologue
        == "BASE <http://b/> PREFIX b: <http://b/b#> PREFIX c: <http://c/> PREFIX x: <http://x/>"
    )
    assert "PREFIX d: <http://d/>" in prologue
    assert "PREFIX a: <http://a/>" in prologue


# --- how many there are -----------------------------------------------------------------------------------------


@given(updates)
@examples(300)
def test_as_many_as_there_are_between_semicolons(text):
    """Random updates: outside of braces, a semicolon is between two operations and nowhere else."""
    depth, count = 0, 1
    for token in tokens(text):
        depth += {"{": 1, "}": -1}.get(token.text, 0)
        count += depth == 0 and token.text == ";"
    found = read_operations(text, {}, BASE)
    if found is None:  # two operations that have the label of a blank node in common
        with pytest.raises(SyntaxError):
            Store().update(text, base_iri=BASE)
    else:
        assert len(found[1]) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("# nothing", 0),
        ("CLEAR ALL ;", 1),
        ("INSERT DATA { :a :p ';' ; :q <http://x/;> } ; CLEAR ALL", 2),
        ("INSERT {} WHERE {} ; DELETE {} WHERE {} ; INSERT DATA {} ; DELETE DATA {} ;", 4),
    ],
)
def test_how_many(text, count):
    """A semicolon may stand at the end, in strings and between predicates."""
    assert len(read(text)) == count


@pytest.mark.parametrize(
    "text",
    [
        *[
            "SELECT * {}",
            "CLEAR",
            "CLEAR :g",
            "DROP ALL ALL",
            "CREATE :g",
            "CREATE GRAPH DEFAULT",
            "COPY :g :h",
        ],
        *[
            "INSERT DATA {",
            "INSERT DATA { ?s :p 1 }",
            "DELETE DATA { _:x :p 1 }",
            "DELETE { _:x :p 1 } WHERE {}",
        ],
        *["INSERT {} WHERE", "WITH :g CLEAR ALL", "CLEAR ALL CLEAR ALL", "CLEAR ALL ; ;", "; CLEAR ALL"],
        *["INSERT DATA { _:x :p 1 } ; INSERT DATA { _:x :p 2 }", "LOAD 'x'", "INSERT DATA } {"],
    ],
)
def test_what_has_no_place_is_no_update(text):
    """None, or an error of a template; Oxigraph refuses each of them too."""
    with pytest.raises(SyntaxError):
        Store().update(PROLOGUE + text, base_iri=BASE)
    try:
        found = read(text)
    except SparqlSyntaxError:
        return
    assert found is None


@pytest.mark.parametrize(
    "prologue", ["PREFIX a: <http://[>", "PREFIX a b: <http://x/>", "BASE <http://[>", "PREFIX : 'x'"]
)
def test_declarations_that_nobody_uses_are_read(prologue):
    """One that is wrong is refused, as Oxigraph does."""
    with pytest.raises(SyntaxError):
        Store().update(f"{prologue} CLEAR ALL")
    with pytest.raises(SparqlSyntaxError):
        read_operations(f"{prologue} CLEAR ALL", {}, BASE)


# --- with other constants ---------------------------------------------------------------------------------------

LITERAL = re.compile(r"'[xy]'|(?<=[ (])[12](?=[ ,);])")
others = st.sampled_from(
    [
        "<http://x/s>",
        "<relative>",
        "<http://x/a/../b>",
        '"# } ;"',
        "'it\\'s'",
        "'\\u0041'",
        '"""a"b\n"""',
        "7",
        "-7",
        "1e5",
        "2.50",
    ]
)


def quads_of(template):
    """Variables as IRIs, blank nodes without their labels: in which order Oxigraph's reader tells quads is open."""
    if template is None:
        return None
    values = {name: NamedNode(f"urn:v:{name}") for name in template.variables}
    values |= {name: BlankNode() for name in template.blanks}
    dataset = Dataset(template.fill(values, DEFAULT))
    dataset.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return set(dataset)


def comparable(found):
    """What was read, but for the declarations of patterns: a mark may seem to need more of them."""
    parts = []
    for operation in found[1] if found is not None else ():
        if isinstance(operation, Data):
            parts.append((operation.insert, quads_of(operation.template)))
        elif isinstance(operation, Modify):
            words = [
                token.text for token in tokens(operation.where)
            ]  # where there was a comment there may be a space
            graphs = (operation.with_graph, operation.using, operation.using_named)
            parts.append((quads_of(operation.delete), quads_of(operation.insert), words, graphs))
        else:
            parts.append(operation)
    return None if found is None else parts


def expected(text):
    """Read anew; names may be in full or not."""
    text = in_full(text, (("", EX),))
    try:
        return comparable(read_operations(with_one_prologue(text), {"": EX}, BASE))
    except SparqlSyntaxError:
        return None


def got(reader, text):
    try:
        return comparable(reader.read(text))
    except SparqlSyntaxError:
        return None


@given(updates, st.data())
@examples(400)
def test_a_remembered_update_is_the_one_that_is_read(text, data):
    """Whatever its constants are, and whatever they were when it was first seen."""
    reader = OperationReader({"": EX}, BASE)
    got(reader, LITERAL.sub("<http://x/first>", text))
    got(reader, text)
    for _ in range(3):
        other = LITERAL.sub(lambda _: data.draw(others), text)
        assert got(reader, other) == expected(other), other


@given(st.lists(others, min_size=4, max_size=4), st.lists(others, min_size=4, max_size=4))
@examples(200)
def test_constants_in_all_places(first, second):
    """Of templates, patterns and datasets; two kinds in one place are two shapes."""
    text = (
        "PREFIX : <http://x/> WITH {} DELETE {{ ?s :p {} , 5 }} INSERT {{ GRAPH {} {{ ?s :p {} }} }} "
        "USING {} WHERE {{ ?s :p {} FILTER(?s != {}) }} ; DELETE DATA {{ {} :p {} }}"
    )
    reader = OperationReader({"": EX}, BASE)
    for a, b, c, d in (first, second):
        one = text.format(a, b, c, d, a, b, c, d, a)
        assert got(reader, one) == expected(one), one


@pytest.mark.parametrize(
    "text",
    [
        "PREFIX a: <http://x/> INSERT DATA {{ a:s a:p {0} }} ; PREFIX a: <http://y/> INSERT DATA {{ a:s a:p {0} }}",
        "INSERT DATA {{ <s> <p> {0} }} ; BASE <http://y/> INSERT DATA {{ <s> <p> {0} }}",
        "# {{ ' \"\nPREFIX a: <http://x/> # <\nDELETE {{ ?s a:p {0} }} WHERE {{ ?s a:p {0} }}",
        "PREFIX a: <http://x/>\nVERSION '1.2' DELETE WHERE {{ ?s a:p {0} }}",
        "DELETE WHERE {{ ?s <p> {0} # }} '\n }}",
        "DELETE WHERE {{ ?s <p>{0}}}",
        "DELETE {{ ?s a:\\'p {0} }} WHERE {{ ?s a:\\# {0} }}",
        "COPY <g> TO <h> ; INSERT DATA {{ <s> <p> {0} }}",
        "INSERT DATA {{ <s> <p> {0} . _:x <p> {0} }} ; INSERT DATA {{ _:x <p> {0} }}",
        "INSERT {{ <s> <p> {0} }} WHERE {{ FILTER(1<{0}) }}",
        "INSERT {{ <s> <p> <<( <s> <p> {0} )>> }} WHERE {{}}",
        "INSERT {{ ?s <p> {0}^^<http://x/t> , {0}@en }} WHERE {{ ?s ?p 'x'^^<http://x/t> }}",
        "INSERT {{ ?s <p> {0} ^^ <http://x/t> }} WHERE {{}}",
        "INSERT DATA {{ <s> <p> '{{ {0}",
    ],
)
def test_shapes_that_are_hard_to_tell(text):
    """Declarations in between, comments with quotes, escapes, glued terms: all as if nothing were remembered."""
    reader = OperationReader({"": EX}, BASE)
    for constant in ("1", "'x'", "<http://x/o>", "'y'", "2", '"}"', "<o>", "'''\n'''"):
        one = text.format(constant)
        assert got(reader, one) == expected(one), one


def test_a_shape_is_read_once(monkeypatch):
    """And its constants are put in; a constant that only Oxigraph can read is read."""
    reader = OperationReader({"": EX}, BASE)
    text = "INSERT {{ ?o <http://x/p> {} }} WHERE {{ ?o <http://x/p> {} }}".format
    first = reader.read(text("'a'", "1"))
    monkeypatch.setattr(operations, "tokens", None)
    assert reader.read(text("'a'", "1")) == first
    (_, (operation,)) = reader.read(text('"b"', "2"))
    assert operation.where == "{ ?o <http://x/p> 2 }"
    assert [quad.object for quad in operation.insert.fill({"o": A}, DEFAULT)] == [Literal("b")]
    monkeypatch.undo()
    (_, (operation,)) = reader.read(text(r"'\u0041'", "2"))
    assert [quad.object for quad in operation.insert.fill({"o": A}, DEFAULT)] == [Literal("A")]


def test_what_is_remembered_has_an_end(monkeypatch):
    """The shapes that were used last stay; long texts are not remembered."""
    monkeypatch.setattr(operations, "_SHAPES", 2)
    reader = OperationReader({"": EX}, BASE)
    texts = [f"INSERT {{ ?s ?{name} 1 }} WHERE {{ ?s ?{name} 1 }}" for name in "abc"]
    for number in (0, 1, 0, 2):
        reader.read(PROLOGUE + texts[number])
    shapes = [shape(PROLOGUE + text)[0] for text in texts]
    assert list(reader._shapes) == [shapes[0], shapes[2]]
    reader.read(f"INSERT {{ ?s <p> '{'x' * 5000}' }} WHERE {{ ?s <p> 1 }}")
    assert len(reader._shapes) == 2


@given(st.text("<>\"'#^+-.019 ,(){};?a:\\\n@_", max_size=30))
@examples(300)
def test_any_text_is_read_as_if_nothing_were_remembered(text):
    """What is no update is none, and what is one is the same."""
    whole = f"INSERT {{ ?s :p {text} }} WHERE {{ ?s :p {text} }}"
    reader = OperationReader({"": EX}, BASE)
    for _ in range(2):
        assert got(reader, whole) == expected(whole)
