"""Members taken out of a document with their shape checked."""

from __future__ import annotations

import pytest

from triplewire.broker.errors import ProfileError
from triplewire.jsap.shape import at, flag, frozen, members, strings, text, thawed


def test_a_member_that_is_not_there_is_empty():
    """Objects are empty, strings and lists of strings None, flags their default."""
    assert members({}, "a") == {}
    assert text({}, "a") is None
    assert strings({"a": None}, "a") is None
    assert flag({}, "a", default=True) is True


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (members, [1], "expected an object, not an array"),
        (members, "x", "expected an object, not a string"),
        (text, 5, "expected a string, not a number"),
        (text, {}, "expected a string, not an object"),
        (strings, [1], "expected a string or an array of strings"),
        (strings, {}, "expected a string or an array of strings"),
        (lambda holder, name, path: flag(holder, name, path, default=True), 1, "expected true or false"),
    ],
)
def test_a_wrong_shape_is_reported_with_its_path(read, value, expected):
    """The path and what was expected are in the error."""
    with pytest.raises(ProfileError, match=expected) as raised:
        read({"b": value}, "b", "a")
    assert raised.value.path == "a.b"


def test_one_string_needs_no_array():
    """A string alone is a list of one."""
    assert strings({"a": "x"}, "a") == ("x",)
    assert strings({"a": ["x", "y"]}, "a") == ("x", "y")
    assert strings({"a": []}, "a") == ()


@pytest.mark.parametrize(
    ("value", "expected"), [(True, True), (False, False), ("true", True), ("False", False)]
)
def test_a_flag_may_be_a_word(value, expected):
    """YAML writers quote, and Java reads both."""
    assert flag({"a": value}, "a", default=not expected) is expected


def test_what_is_frozen_can_not_be_changed():
    """Neither the object, nor what is in it, nor the source through it."""
    source = {"a": [{"b": 1}]}
    copy = frozen(source)
    source["a"][0]["b"] = 2
    assert copy["a"][0]["b"] == 1
    with pytest.raises(TypeError):
        copy["a"] = 1
    with pytest.raises(TypeError):
        copy["a"][0]["b"] = 1


def test_what_is_thawed_belongs_to_the_caller():
    """It is plain dicts and lists again, and no part of it is shared."""
    copy = frozen({"a": [{"b": 1}]})
    mine = thawed(copy)
    mine["a"].append(2)
    assert mine == {"a": [{"b": 1}, 2]}
    assert thawed(copy) == {"a": [{"b": 1}]}


def test_paths_are_joined_by_dots():
    """The document itself has the empty path."""
    assert at("", "host") == "host"
    assert at("queries.SENT", "sparql") == "queries.SENT.sparql"
