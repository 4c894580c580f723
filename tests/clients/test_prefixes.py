import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from triplewire.clients.prefixes import XSD, Prefixes

EX = Prefixes({"ex": "http://example.org/", "exns": "http://example.org/ns#", "": "http://empty.org/"})


@pytest.mark.parametrize(
    ("term", "short"),
    [
        (NamedNode("http://example.org/a"), "ex:a"),
        (NamedNode("http://example.org/ns#a"), "exns:a"),
        (NamedNode("http://empty.org/a"), ":a"),
        (NamedNode("http://example.org/a.b-c"), "ex:a.b-c"),
        (NamedNode("http://example.org/a."), "<http://example.org/a.>"),
        (NamedNode("http://example.org/a/b"), "<http://example.org/a/b>"),
        (NamedNode("http://example.org/"), "<http://example.org/>"),
        (NamedNode("http://other.org/a"), "<http://other.org/a>"),
        (NamedNode("http://www.w3.org/ns/sosa/Sensor"), "sosa:Sensor"),
        (Literal('say "hi"\n'), '"say \\"hi\\"\\n"'),
        (Literal("salut", language="fr"), '"salut"@fr'),
        (Literal(7), "7"),
        (Literal(True), "true"),
        (Literal("2026-01-01", datatype=NamedNode(XSD + "date")), '"2026-01-01"^^xsd:date'),
        (Literal("x", datatype=NamedNode("http://example.org/t")), '"x"^^ex:t'),
        (BlankNode("b1"), "_:b1"),
        (Triple(BlankNode("b1"), NamedNode("http://example.org/p"), Literal(1)), "<<( _:b1 ex:p 1 )>>"),
    ],
)
def test_terms_are_shortened(term, short):
    """As people write them."""
    assert EX.short(term) == short


def test_a_query_declares_prefixes():
    """In any case, and not in strings and comments."""
    prefixes = Prefixes.of(
        "# PREFIX no: <http://no.org/>\n"
        'prefix a: <http://a.org/> PREFIX foaf: <http://mine.org/> SELECT ("PREFIX b: <http://b.org/>" AS ?x) {}'
    )

    assert prefixes.short(NamedNode("http://a.org/x")) == "a:x"
    assert prefixes.short(NamedNode("http://mine.org/x")) == "foaf:x"
    assert prefixes.short(NamedNode("http://no.org/x")) == "<http://no.org/x>"
    assert prefixes.short(NamedNode("http://b.org/x")) == "<http://b.org/x>"


@pytest.mark.parametrize("text", ["", "PREFIX", "PREFIX a:", "PREFIX a: b", "{{{{"])
def test_a_text_that_is_no_query_declares_none(text):
    """Nothing is raised; the broker will say what is wrong."""
    assert Prefixes.of(text).short(NamedNode("http://a.org/x")) == "<http://a.org/x>"


def test_control_characters_never_reach_a_terminal():
    """A literal could move its cursor or change its title."""
    assert "\x1b" not in EX.short(Literal("\x1b]0;owned\x07"))
    assert EX.short(Literal("\x9b2J")) == '"\\u009B2J"'
    assert "\x1b" not in EX.short(Literal("\x1b[2J", datatype=NamedNode(XSD + "integer")))
