"""What Java's expressions take for an IRI, by Python's, which read them alike."""

from __future__ import annotations

import re

import pytest

from triplewire.clients.historic.iri_patterns import BAD_BRACKETS, SHAPE, STRAY_PERCENT, is_safe_start
from triplewire.clients.historic.lexical import IRI

SHAPED = re.compile(SHAPE.replace(r"\z", r"\Z"))
ABSOLUTE = (
    "http://e/x",
    "http://user:pw@e:80/a?b#c",
    "urn:x",
    "x:",
    "a+b.c-d:/p",
    "http://[::1]/",
    "http://[1:2:3:4:5:6:7:8]/x",
    "http://e/%41\u00e4\u65e5",
    "x:?q#f",
    "http://e?\ue000",
)
NONE = (
    "",
    "x",
    "1x:y",
    "//e/x",
    "http://e/ x",
    "http://e/<x>",
    "http://e/%4",
    "http://e/%zz",
    "http://[1]/",
    "http://[::1/",
    "http://[1:2:3:4:5:6:7:8:9]/",
    "http://e/x#a#b",
    'x:"',
    "x:\\",
    "http://e/\x00",
    "http://e/x\n",
)


@pytest.mark.parametrize("text", [*ABSOLUTE, *NONE])
def test_the_patterns_together_are_the_one_of_the_rules(text):
    """A shape, without stray percent signs and addresses that are none."""
    found = (
        bool(SHAPED.search(text)) and not re.search(STRAY_PERCENT, text) and not re.search(BAD_BRACKETS, text)
    )
    assert found == (text in ABSOLUTE)
    assert found == (re.fullmatch(IRI, text) is not None)


@pytest.mark.parametrize(
    ("text", "is_safe"),
    [
        ("http://e/", True),
        ("http://e/x/", True),
        ("urn:x", True),
        ("x:/a", True),
        ("http://e", False),
        ("http://", False),
        ("x:", False),
        ("urn:a:", False),
        ("http://[::1]/", False),
        ("", False),
        ("a", False),
    ],
)
def test_beginnings_that_nothing_can_break(text, is_safe):
    """The authority has ended before the first value."""
    assert is_safe_start(text) == is_safe
