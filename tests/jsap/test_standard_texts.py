"""W3C's queries and updates with each of their variables forced: they stay SPARQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from triplewire.broker.errors import ProfileError
from triplewire.jsap import ForcedBinding, bind
from triplewire.jsap.places import Place, read
from triplewire.jsap.syntax import query_fault, update_fault

FOLDER = Path(__file__).parents[2].parent / "shared" / "w3c"
QUERIES, UPDATES = sorted(FOLDER.rglob("*.rq")), sorted(FOLDER.rglob("*.ru"))

pytestmark = pytest.mark.skipif(
    not QUERIES, reason="the folder of outside test data is not beside this checkout"
)


def _texts(paths, fault):
    """Those that Oxigraph takes as they are; the suites have wrong ones too."""
    found = {path.read_text(encoding="utf-8", errors="replace") for path in paths}
    return sorted(text for text in found if fault(text) is None)


def _is_assigned(text, name):
    return any(use.name == name and use.place is Place.ASSIGNED for use in read(text).uses)


def _bound(text, name, value):
    """The text with the variable forced; None where it is rightly refused."""
    try:
        return bind(text, {name: ForcedBinding("uri")}, {name: value}, {})
    except ProfileError as refused:
        if _is_assigned(text, name) or "subselect" in refused.description:
            return None
        raise


@pytest.mark.parametrize("value", ["urn:a", ["urn:a", "urn:b"]], ids=["one value", "several values"])
def test_every_query_stays_one(value):
    """With an IRI for any of its variables, or several; those it assigns itself are refused."""
    texts = _texts(QUERIES, query_fault)
    assert len(texts) > 400
    for text in texts:
        for name in read(text).names():
            bound = _bound(text, name, value)
            if bound is not None:
                assert query_fault(bound) is None, bound


def test_every_update_stays_one():
    """With an IRI for any of its variables."""
    texts = _texts(UPDATES, update_fault)
    assert len(texts) > 100
    for text in texts:
        for name in read(text).names():
            if not _is_assigned(text, name):
                bound = bind(text, {name: ForcedBinding("uri")}, {name: "urn:a"}, {})
                assert update_fault(bound) is None, bound
