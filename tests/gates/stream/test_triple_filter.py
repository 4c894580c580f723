"""A pattern that one triple must match."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stepped import item

from triplewire.broker.errors import MalformedRequest
from triplewire.gates.stream.looked import Looked
from triplewire.gates.stream.triple_filter import triple_of

BODY = b"""
<urn:a> <urn:p> <urn:b> . <urn:b> <urn:same> <urn:b> . <urn:a> a <urn:T> .
<urn:a> <urn:says> "hello"@en , "21"^^<http://www.w3.org/2001/XMLSchema#integer> , "a \\"quote\\"" .
_:x <urn:p> <urn:c> .
"""


@pytest.mark.parametrize(
    ("pattern", "passes"),
    [
        ("* * *", True),
        ("?s ?p ?o", True),
        ("<urn:a> <urn:p> <urn:b>", True),
        ("<urn:a> <urn:p> <urn:c>", False),
        ("<urn:a> * <urn:b>", True),
        ("* <urn:none> *", False),
        ("* a <urn:T>", True),
        ("?x ?p ?x", True),
        ("?x <urn:p> ?x", False),
        ("?x ?x *", False),
        ('* <urn:says> "hello"@en', True),
        ('* <urn:says> "hello"', False),
        ('* * "21"^^<http://www.w3.org/2001/XMLSchema#integer>', True),
        ('* * "a \\"quote\\""', True),
        ("  <urn:a>\t<urn:p>  <urn:b> ", True),
        ("* <urn:p> <urn:c>", True),
    ],
)
def test_which_items_match(pattern, passes):
    """One triple is enough; a variable is the same term wherever it stands."""
    assert triple_of(pattern).passes(Looked(item("e", BODY))) is passes


def test_without_rdf_nothing_matches():
    """Not even three stars."""
    assert not triple_of("* * *").passes(Looked(item("e", b"x", syntax="text/plain")))


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "*",
        "* *",
        "* * * *",
        "<urn:a> <urn:b>",
        "a b c",
        "<no iri> * *",
        "<relative> * *",
        '* * "open',
        "* * 21",
        "_:x * *",
        '* * "x"^^<y>',
    ],
)
def test_what_is_no_pattern(pattern):
    """The whole text is told."""
    with pytest.raises(MalformedRequest, match="triple"):
        triple_of(pattern)


@given(st.text(max_size=60) | st.text('<>urn:a*? "\\@^t1_', max_size=40))
def test_any_text_is_taken_or_refused(text):
    """Never by another error."""
    try:
        pattern = triple_of(text)
    except MalformedRequest:
        return
    assert pattern.passes(Looked(item("e", BODY))) in {True, False}
