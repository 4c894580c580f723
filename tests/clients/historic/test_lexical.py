from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from triplewire.clients.historic.lexical import IRI, IUNRESERVED, LANGUAGE_TAG, UNRESERVED

PIECES = [
    *(
        "a",
        "Z",
        "0",
        ":",
        "/",
        "//",
        "?",
        "#",
        "[",
        "]",
        "@",
        "!",
        "$",
        "&",
        "'",
        "(",
        ")",
        "*",
        "+",
        ",",
        ";",
        "=",
    ),
    *(
        "%",
        "%41",
        "%4",
        "-",
        ".",
        "_",
        "~",
        " ",
        "<",
        ">",
        '"',
        "{",
        "}",
        "|",
        "\\",
        "^",
        "`",
        "\n",
        "\x00",
        "\x7f",
    ),
    *("\u0080", "\u00a0", "\u00e9", "\ud7ff", "\ue000", "\ufdd0", "\ufdf0", "\uffef", "\ufffd", "\uffff"),
    *(
        "\U00010000",
        "\U0001fffe",
        "\U000e0fff",
        "\U000e1000",
        "\U000f0000",
        "http://",
        "urn:",
        ":80",
        "[::1]",
    ),
]


@settings(max_examples=1000)
@given(
    st.sampled_from(["", "http:", "http://", "http://a", "x+y.z-1:"]),
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
)
@example("http://", "a/b?c#d")
@example("http://", "a\n")
def test_an_iri_is_what_oxigraph_takes(start, rest):
    """One line that Oxigraph refuses would stop a load of millions."""
    text = start + rest
    try:
        NamedNode(text)
    except ValueError:
        assert not re.fullmatch(IRI, text)
    else:
        assert re.fullmatch(IRI, text)


@pytest.mark.parametrize(
    ("tag", "is_one"),
    [
        *((tag, True) for tag in ("de", "en-GB", "zh-Hant-TW", "gsw", "x-private", "i-klingon", "de-1901")),
        *(
            (tag, False)
            for tag in ("english", "spanish", "e", "", "de_DE", "de-", "-de", "de DE", "de-waytoolong1", "x")
        ),
    ],
)
def test_language_tags_have_the_shape_of_bcp_47(tag, is_one):
    """`english` has the shape of a registered language, and none of that length ever was."""
    assert bool(re.fullmatch(LANGUAGE_TAG, tag)) is is_one


def test_letters_of_any_script_are_unreserved_in_iris_only():
    """RFC 3987 2.2 and RFC 3986 2.3."""
    assert re.fullmatch(f"[{IUNRESERVED}]+", "aZ9-._~é日\U00010000")
    assert re.fullmatch(f"[{UNRESERVED}]+", "aZ9-._~")
    for character in "é/ %\ue000\ufdd0":
        assert not re.fullmatch(f"[{UNRESERVED}]", character)
    for character in "/ %\ue000\ufdd0\u0080":
        assert not re.fullmatch(f"[{IUNRESERVED}]", character)
