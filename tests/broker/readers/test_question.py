"""What Oxigraph is asked."""

from __future__ import annotations

import pytest
from support.readers import GRAPH

from triplewire.broker.model import QueryForm
from triplewire.broker.readers.question import Question


def test_options():
    """The store's dataset, the union, or the graphs that are named, which come first."""
    assert Question("x").options() == {"base_iri": None, "prefixes": {}}
    assert Question("x", union_default_graph=True).options()["use_default_graph_as_union"] is True
    named = Question("x", default_graphs=(GRAPH,), union_default_graph=True).options()
    assert (named["default_graph"], named["named_graphs"]) == ([GRAPH], [])
    assert "use_default_graph_as_union" not in named


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("select * {}", QueryForm.SELECT),
        ("PREFIX : <x> ASK {}", QueryForm.ASK),
        ("DESCRIBE <x>", QueryForm.CONSTRUCT),
        ("CONSTRUCT { ?s ?p ?o } WHERE { SELECT * {} }", QueryForm.CONSTRUCT),
        ("", QueryForm.SELECT),
    ],
)
def test_the_likely_form(text, form):
    """By the first of the words."""
    assert Question(text).likely_form() is form
