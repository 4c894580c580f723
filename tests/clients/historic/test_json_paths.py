from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.clients.historic.json_paths import json_path
from triplewire.clients.historic.mapping_problems import Problem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$", ()),
        ("$.a.b", ("a", "b")),
        ("a.b", ("a", "b")),
        ("$['a b']", ("a b",)),
        ('$["a\\"b"]', ('a"b',)),
        ("$['it\\'s']", ("it's",)),
        ("['x y'].z", ("x y", "z")),
        ("Country Code", ("Country Code",)),
        ("$.a[0].b", ("a", 0, "b")),
        ("$.a[*]", ("a", None)),
        ("$[*]", (None,)),
        ("$.a.*", ("a", None)),
        ("$.größe", ("größe",)),
        ("$.a-b_c", ("a-b_c",)),
        ("$['']", ("",)),
    ],
)
def test_a_path_is_steps(text, expected):
    """Members by their names, elements by their places, None for all of them."""
    assert json_path(text) == expected


@pytest.mark.parametrize(
    "text", ["$.students[*]]", "$..a", "$.a[?(@.b)]", "$.a[1:2]", "$.", "a..b", "", "$a", "$['a", "$[01]"]
)
def test_what_is_more_than_a_place_is_refused(text):
    """Filters, slices and descendants, and what is no path."""
    with pytest.raises(Problem, match="no JSONPath"):
        json_path(text)


@given(st.lists(st.text(min_size=0, max_size=8) | st.integers(0, 99), max_size=5))
def test_any_member_can_be_named(steps):
    """Whatever its name is, quoted."""
    written = "$" + "".join(
        f"[{step}]" if isinstance(step, int) else "['" + step.replace("\\", "\\\\").replace("'", "\\'") + "']"
        for step in steps
    )
    if any(isinstance(step, str) and "\n" in step for step in steps):
        return
    assert json_path(written) == tuple(steps)
