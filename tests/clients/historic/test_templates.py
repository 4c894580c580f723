from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.clients.historic.mapping_problems import Problem
from triplewire.clients.historic.plan import Constant, Reference, Template
from triplewire.clients.historic.templates import template


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("http://example.com/{ID}/{Name}", ("http://example.com/", Reference("ID"), "/", Reference("Name"))),
        ("{a}{b}", (Reference("a"), Reference("b"))),
        (r"\{\{ {ISO 3166} \}\}", ("{{ ", Reference("ISO 3166"), " }}")),
        (r"a\\{b}", ("a\\", Reference("b"))),
        (r"{$['\{Name\}']}", (Reference("$['{Name}']"),)),
        ("{größe}", (Reference("größe"),)),
    ],
)
def test_a_template_is_texts_and_references(text, parts):
    """R2RML 7.3: braces around names, a backslash before braces and backslashes that are meant."""
    assert template(text, Reference) == Template(parts)


def test_a_template_without_a_reference_is_a_constant():
    """It is the same for each row."""
    assert template(r"a\{b\}", Reference) == Constant("a{b}")


@pytest.mark.parametrize(
    "text", ["{{Name}}", "{Name", "Name}", r"{N\ame}", r"a\b", "{}", "{ }", r"{\\{Name\\}}", "{Name\\}"]
)
def test_what_is_no_template_is_refused(text):
    """With the place from which it can't be read."""
    with pytest.raises(Problem, match="is no template"):
        template(text, Reference)


@given(
    st.lists(
        st.text(max_size=6) | st.text(min_size=1, max_size=6).filter(str.strip).map(Reference), max_size=6
    )
)
def test_a_template_that_is_written_is_read(parts):
    """Whatever the texts and the names are."""

    def escaped(text: str) -> str:
        return "".join(f"\\{c}" if c in "{}\\" else c for c in text)

    text = "".join(
        f"{{{escaped(part.name)}}}" if isinstance(part, Reference) else escaped(part) for part in parts
    )
    found = template(text, Reference)
    again = (found.value,) if isinstance(found, Constant) else found.parts
    assert [p for p in again if isinstance(p, Reference)] == [p for p in parts if isinstance(p, Reference)]
    assert "".join(p if isinstance(p, str) else "\0" for p in again) == "".join(
        p if isinstance(p, str) else "\0" for p in parts
    )
