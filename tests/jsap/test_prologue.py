"""Prefixes that texts declare, use and leave open."""

from __future__ import annotations

import pytest
from pyoxigraph import Store

from triplewire.broker.errors import ProfileError
from triplewire.jsap import prologue

NAMESPACES = {"a": "urn:a:", "b": "urn:b:", "": "urn:empty:"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * {?s a:p a:q, b:q}", "PREFIX a: <urn:a:> PREFIX b: <urn:b:> "),
        ("SELECT * {?s :p <a:b>}", "PREFIX : <urn:empty:> "),
        ("PREFIX a: <urn:x:> SELECT * {?s a:p b:q}", "PREFIX b: <urn:b:> "),
        ("BASE <urn:x> prefix a: <y> SELECT * {?s a:p b:q}", "PREFIX b: <urn:b:> "),
        ("SELECT * {?s ?p 'a:b'} # b:c", ""),
        ("SELECT * {?s c:p _:a}", ""),
        ("", ""),
    ],
)
def test_only_what_the_text_uses_and_does_not_declare_is_added(text, expected):
    """Strings, comments, IRIs and blank nodes are no prefixed names."""
    assert prologue.missing(text, NAMESPACES) == expected


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * {?s a:p b:q}",
        "# a comment first\nSELECT * {?s a:p b:q}",
        "BASE <http://x/>\nPREFIX a: <y#>\nSELECT * {?s a:p b:q, <z>}",
        "PREFIX b: <urn:bb:> # so\nBASE <http://x/> SELECT * {?s a:p b:q}",
    ],
)
def test_what_is_added_fits_before_every_text(text):
    """BASE and PREFIX may come in any order; no line is moved."""
    added = prologue.missing(text, NAMESPACES)
    assert "\n" not in added
    Store().query(added + text)


def test_the_namespace_that_the_text_declares_wins():
    """The profile's is not added, so the text's holds."""
    text = "PREFIX a: <urn:mine:> SELECT (a:x AS ?x) {}"
    assert [row[0].value for row in Store().query(prologue.missing(text, NAMESPACES) + text)] == [
        "urn:mine:x"
    ]


def test_a_prefix_declared_between_operations_is_declared_too_late_for_the_first():
    """The first operation still gets the profile's."""
    text = "INSERT DATA {a:x a:y a:z} ; PREFIX a: <urn:late:> INSERT DATA {a:x a:y a:z}"
    assert prologue.missing(text, NAMESPACES) == "PREFIX a: <urn:a:> "
    assert prologue.declared(text) == frozenset()
    assert prologue.declared_anywhere(text) == {"a"}


@pytest.mark.parametrize(
    ("text", "end", "word"),
    [
        ("ASK {}", 0, "ASK"),
        ("PREFIX a: <urn:a> ask {}", 17, "ASK"),
        ("BASE <urn:a>\n#c\nPREFIX : <b>\ninsert data {}", 28, "INSERT"),
        ("PREFIX", 6, ""),
        ("{", 0, ""),
        ("", 0, ""),
    ],
)
def test_where_the_prologue_ends(text, end, word):
    """After the last declaration; then comes the first word."""
    assert prologue.end(text) == end
    assert prologue.first_word(text) == word


def test_a_namespace_that_is_no_iri_is_an_error_where_it_is_used():
    """It can't leave its brackets."""
    bad = {"a": "urn:a> SELECT"}
    assert prologue.missing("ASK {}", bad) == ""
    with pytest.raises(ProfileError, match=r"namespaces\.a: .* is not an IRI"):
        prologue.missing("ASK {a:b ?p ?o}", bad)


def test_prefixes_are_known_by_the_token_that_first_uses_them():
    """So that a problem can name its place."""
    token = prologue.used("SELECT * {?s a:p b:q, a:r}")["b"]
    assert (token.text, token.start) == ("b:q", 17)
