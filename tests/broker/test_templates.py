"""Templates: what SPARQL calls quads, read by a TriG reader, filled from solutions, written as SPARQL again."""

from __future__ import annotations

import pyoxigraph
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple
from support.deltas import EX, XSD, examples
from support.sparql_strategies import PROLOGUE, data_blocks

from triplewire.broker.errors import SparqlSyntaxError
from triplewire.broker.templates import Constant, Template, mark, plain_data, read_quads, split_at_marks
from triplewire.broker.tokens import shape

BASE = "http://localhost/"
A, B, G = (NamedNode(f"{EX}{name}") for name in "abg")


def read(body):
    return Template.read(body, PROLOGUE, BASE)


def filled(body, default=None, **values):
    return list(read(body).fill(values, default or DefaultGraph()))


def unlabeled(quads):
    dataset = pyoxigraph.Dataset(quads)
    dataset.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    return set(dataset)


# --- reading ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "variables", "blanks"),
    [
        ("", (), 0),
        (":a :b :c", (), 0),
        ("?s ?p ?o", ("s", "p", "o"), 0),
        ("?o :p ?s . ?s :p ?o", ("o", "s"), 0),
        ("$s :p ?s", ("s",), 0),
        ("GRAPH ?g { ?s :p 1 }", ("s", "g"), 0),
        ("_:x :p _:y . _:y :p _:x", (), 2),
        (":a :p [ :q ?x ], ( ?y 1 )", ("x", "y"), 3),
        (":a :p <<( ?s :q ?o )>>", ("s", "o"), 0),
        (":a :p '?x', \"?y\" # ?z", (), 0),
    ],
)
def test_its_places(body, variables, blanks):
    """Variables in order of their first quad, each once; blank nodes by number."""
    template = read(body)
    assert set(template.variables) == set(variables)
    assert len(template.variables) == len(variables)
    assert len(template.blanks) == blanks


@pytest.mark.parametrize(
    "body",
    [
        ":a :b :c GRAPH :g { :a :b 1 } :a :b 2",
        ":a :b :c . GRAPH :g { :a :b 1 . } . :a :b 2 .",
        "GRAPH :g { :a :b 1 } GRAPH :h { :a :b 2 }",
        ":a :b 1 . # a comment }\n",
        ":a :b '{', '''}''' ; :c <http://x/#.> .",
        ":a :b 1.5 GRAPH :g {}",
        ":a :b 1.",
    ],
)
def test_the_dots_of_sparql(body):
    """They may go before GRAPH and at the end, where TriG wants them."""
    store = pyoxigraph.Store()
    store.update(f"{PROLOGUE} INSERT DATA {{ {body} }}")
    assert set(filled(body)) == set(store)


@pytest.mark.parametrize(
    "body",
    [
        ":g { :a :b :c }",
        "{ :a :b :c }",
        "PREFIX x: <http://x/> x:a x:b x:c",
        "@prefix x: <http://x/> . x:a x:b x:c",
        "BASE <http://x/> :a :b :c",
        ":a :b 'x'^^?t",
        ":a :b",
        ":a undeclared:b :c",
        ":a :b :c } {",
    ],
)
def test_where_trig_is_laxer_it_is_not(body):
    """What SPARQL does not read is refused."""
    with pytest.raises(SyntaxError):
        pyoxigraph.Store().update(f"{PROLOGUE} INSERT {{ {body} }} WHERE {{}}", base_iri=BASE)
    with pytest.raises(SparqlSyntaxError, match="Parsing failed"):
        read(body)


@given(data_blocks())
@examples(100)
def test_data_is_what_oxigraph_reads(block):
    """Any block of data, with a blank node for each of its labels."""
    store = pyoxigraph.Store()
    store.update(f"{PROLOGUE} INSERT DATA {{ {block} }}", base_iri=BASE)
    template = read(block)
    values = {name: BlankNode() for name in template.blanks}
    scratch = pyoxigraph.Store()
    scratch.extend(template.fill(values, DefaultGraph()))
    assert unlabeled(scratch) == unlabeled(store)


# --- filling ----------------------------------------------------------------------------------------------------


def test_a_solution_fills_its_places():
    """Constants stay; the default graph is the one that WITH names."""
    assert filled("?s :b ?o", s=A, o=Literal("x")) == [Quad(A, B, Literal("x"))]
    assert filled("?s :b ?o", G, s=A, o=B) == [Quad(A, B, B, G)]
    assert filled("GRAPH ?g { ?s :b ?o }", B, s=A, o=B, g=G) == [Quad(A, B, B, G)]


@pytest.mark.parametrize(
    "values",
    [
        {"s": A, "p": B},
        {"s": A, "p": B, "o": None},
        {"s": Literal("x"), "p": B, "o": A},
        {"s": A, "p": Literal("x"), "o": A},
        {"s": A, "p": BlankNode(), "o": A},
        {"s": Triple(A, B, A), "p": B, "o": A},
    ],
)
def test_what_is_no_quad_is_left_out(values):
    """An unbound place or an ill-formed quad takes nothing but itself along (SPARQL 1.1 Update, 3.1.3)."""
    assert filled("?s ?p ?o . :a :b 1", **values) == [Quad(A, B, Literal(1))]


def test_a_graph_is_no_literal():
    """Nor unbound."""
    assert filled("GRAPH ?g { :a :b 1 }", g=Literal("x")) == []
    assert filled("GRAPH ?g { :a :b 1 }") == []
    assert filled("GRAPH ?g { :a :b 1 }", g=BlankNode("g")) == [Quad(A, B, Literal(1), BlankNode("g"))]


def test_places_in_triple_terms():
    """A term that can't be made leaves its quad out."""
    body = ":a :b <<( ?s :b ?o )>>"
    assert filled(body, s=A, o=Literal(1)) == [Quad(A, B, Triple(A, B, Literal(1)))]
    assert filled(body, s=Literal(1), o=A) == []
    assert filled(body, s=A) == []


def test_one_label_is_one_node():
    """In all the quads of a solution."""
    template = read("_:x :b _:y . GRAPH :g { _:x :b _:x }")
    first, second = BlankNode(), BlankNode()
    values = dict(zip(template.blanks, (first, second), strict=True))
    assert set(template.fill(values, DefaultGraph())) == {Quad(first, B, second), Quad(first, B, first, G)}


def test_a_template_of_given_triples():
    """What LOAD reads, put into its graph; blank nodes are places."""
    node = BlankNode()
    template = Template.of([Quad(A, B, node), Quad(node, B, Literal("x"))], G)
    assert template.variables == ()
    (name,) = template.blanks
    other = BlankNode()
    assert list(template.fill({name: other}, DefaultGraph())) == [
        Quad(A, B, other, G),
        Quad(other, B, Literal("x"), G),
    ]


@pytest.mark.parametrize(
    "body",
    [
        "?s :b ?o . GRAPH ?g { ?s ?p 'x'@en }",
        ":a :b <<( ?s :b 1 )>>",
        "GRAPH :g { :a :b 1.50 , true }",
    ],
)
def test_its_text_is_the_template_again(body):
    """Names, graphs and terms come back."""
    assert read(read(body).text("")) == read(body)


def test_its_blank_nodes_may_be_written_as_variables():
    """With the prefix that is asked for."""
    template = read("_:x :b _:y . _:y :b _:x")
    again = read(template.text("made_"))
    assert again.blanks == ()
    assert again.variables == ("made_0", "made_1")


# --- plain data -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "plain"),
    [
        (":a :b :c", ":a :b :c\n."),
        (":a :b :c . ", ":a :b :c . "),
        (":a :b 1 # end.", ":a :b 1 # end."),
        ("  ", "  "),
        ("GRAPH :g { :a :b :c }", "GRAPH :g { :a :b :c }"),
        ("graph<http://x/>{ :a :b :c . }", "graph<http://x/>{ :a :b :c . }"),
        ("GRAPH :g { :a :b '}' }", None),
        (":a :b '{'", None),
        ("GRAPH :g { :a :b 1 } GRAPH :h { :a :b 2 }", None),
        ("GRAPH :g { :a :b 1 } :a :b 2", None),
        ("PREFIX x: <http://x/> x:a x:b x:c", None),
        ("@base <http://x/> . <a> <b> <c>", None),
        (":a :b 'a database, a prefixed word'", ":a :b 'a database, a prefixed word'\n."),
    ],
)
def test_what_is_plain(body, plain):
    """It can be told without reading terms; where in doubt, it is not."""
    assert plain_data(body) == plain


def test_reading_refuses_in_our_words():
    """Oxigraph's error is a SparqlSyntaxError, never longer than a line or two."""
    with pytest.raises(SparqlSyntaxError, match="Parsing failed") as caught:
        read_quads("<a> <b>" + "x" * 5000, "", BASE)
    assert len(str(caught.value)) < 400
    assert read_quads("<a> x:b 1 .", "PREFIX x: <y/>", BASE) == [
        Quad(NamedNode(f"{BASE}a"), NamedNode(f"{BASE}y/b"), Literal(1))
    ]


# --- constants --------------------------------------------------------------------------------------------------

iri_texts = st.from_regex(r"\A<(?:https?|urn|HTTP|a\+b):[a-zA-Z0-9:/?#.%~@!$&'()*+,;=é_\[\]-]{0,12}>\Z")
short_texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\\\"'ntbu\n\r"), max_size=6)
string_texts = st.builds("{0}{1}{0}".format, st.sampled_from(["'", '"', "'''", '"""']), short_texts)
number_texts = st.from_regex(r"\A[+-]?(?:[0-9]{0,3}\.)?[0-9]{1,3}(?:[eE][+-]?[0-9]{1,2})?\Z")


@pytest.mark.parametrize(
    ("texts", "constant", "after"),
    [
        (iri_texts, Constant(0), ""),
        (number_texts, Constant(0), ""),
        (string_texts, Constant(0), ""),
        (string_texts, Constant(0, None, "en-gb"), "@en-GB"),
        (string_texts, Constant(0, NamedNode(f"{XSD}decimal")), f"^^<{XSD}decimal>"),
    ],
    ids=["iri", "number", "string", "language", "datatype"],
)
def test_a_constant_is_the_term_that_oxigraph_reads(texts, constant, after):
    """Or it is left to Oxigraph; what Oxigraph refuses never becomes a term."""

    @given(texts)
    @examples(400)
    def check(text):
        found = shape(f":a :b {text} .")
        assume(found is not None)
        assume(found[1] == (text,))
        try:
            term = constant.term(text)
        except ValueError:
            return
        for format_ in (RdfFormat.TRIG, RdfFormat.TURTLE):
            (quad,) = pyoxigraph.parse(f"<a> <b> {text}{after} .", format=format_, base_iri="http://base/x/y")
            assert quad.object == term

    check()


@pytest.mark.parametrize(
    "text",
    ["<relative>", "<#x>", "<http://x/a/../b>", "<urn:./x>", r"<http://x/\u0041>", r"'\u0041'", r"'\x'"],
)
def test_what_needs_a_reader_is_left_to_it(text):
    """Relative IRIs, dots in paths and code points; none of them is guessed."""
    with pytest.raises(ValueError, match=r".+"):
        Constant(0).term(text)


def test_binding_puts_each_constant_in_its_place():
    """In every position, in triple terms too; the rest stays."""
    body = (
        "?s {} {}@en . GRAPH {} {{ _:x :b {} }} ?s :b <<( {} :b ?o )>>, {}^^<http://x/date>, <<( :a :b {} )>>"
    )
    constants = ["<http://x/p>", "'t'", "<http://x/g>", "1.5", "<http://x/s>", '"2026-01-01"', "-7"]
    marks = [mark(kind, number) for number, kind in enumerate('<"<0<"-')]
    assert read(body.format(*marks)).bind(constants) == read(body.format(*constants))


@pytest.mark.parametrize("kind", ["<", '"', "0", "+", "#", "^^<http://x/t>"])
def test_a_text_comes_apart_at_its_marks(kind):
    """With numbers where the constants go; comments are spaces, and a datatype is no constant."""
    text = f"a {mark(kind, 12)} b"
    expected = {"#": ["a   b"], "^": ["a ^^<http://x/t> b"]}.get(kind[0], ["a ", 12, " b"])
    assert split_at_marks(text) == expected


@pytest.mark.parametrize(
    "body", ["{} :b :c", ":a {} :c", ":a :b 'x'^^{}", "GRAPH {} {{ :a :b :c }}", ":a :b {}@en"]
)
def test_a_number_is_marked_as_what_can_stand_there(body):
    """Where a number may not be, its mark may not either."""
    for text in ("5", mark("0", 0)):
        with pytest.raises(SparqlSyntaxError):
            read(body.format(text))
