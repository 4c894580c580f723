"""Any JSON at all, small, for what must not fail whatever stands where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def any_json(words: SearchStrategy[str] | None = None) -> SearchStrategy[Any]:
    """A value of any kind, with all numbers that Python's writer has; `words` are names that members may have."""
    names = st.text(max_size=8) if words is None else st.text(max_size=8) | words
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
        max_leaves=12,
    )
