from __future__ import annotations

import pytest

from triplewire.clients.historic.rml_vocabulary import IGNORED, PROPERTIES, UNSUPPORTED, word


@pytest.mark.parametrize(
    ("iri", "expected"),
    [
        ("http://w3id.org/rml/template", "template"),
        ("http://semweb.mmlab.be/ns/rml#reference", "reference"),
        ("http://www.w3.org/ns/r2rml#column", "column"),
        ("http://semweb.mmlab.be/ns/ql#CSV", "CSV"),
        ("http://www.w3.org/ns/csvw#url", "csvw:url"),
        ("http://semweb.mmlab.be/ns/fnml#functionValue", "functionValue"),
        ("http://example.com/template", None),
    ],
)
def test_words_of_three_namespaces_are_one(iri, expected):
    """Those of CSVW keep their prefix, all others mean nothing."""
    assert word(iri) == expected


def test_what_is_unsupported_is_not_also_ignored():
    """A word is carried out, refused or passed over."""
    assert not UNSUPPORTED.keys() & IGNORED
    assert "template" in PROPERTIES["subject map"]
    assert "language" not in PROPERTIES["subject map"]
