"""Files as documents: JSON, and YAML that means the same."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from triplewire.broker.errors import ProfileError
from triplewire.jsap.documents import MalformedProfile, parse, plain, read

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_a_file_is_json_unless_its_name_says_yaml(tmp_path):
    """The suffixes .yaml, .yml and .ysap are YAML in any case, all others JSON."""
    for name in ("a.yaml", "a.yml", "a.ysap", "a.YSAP"):
        (tmp_path / name).write_text("host: here\n")
        assert read(tmp_path / name) == {"host": "here"}
    for name in ("a.jsap", "a.json", "a"):
        (tmp_path / name).write_text('{"host": "here"}')
        assert read(tmp_path / name) == {"host": "here"}


def test_a_byte_order_mark_is_no_part_of_the_document(tmp_path):
    """Windows editors write one."""
    (tmp_path / "a.jsap").write_bytes(b'\xef\xbb\xbf{"host": "here"}')
    assert read(tmp_path / "a.jsap") == {"host": "here"}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("truer", "truer"),
        ("true", True),
        ("2018-06-28T00:00:00", "2018-06-28T00:00:00"),
        ("12:30", "12:30"),
        ("010", "010"),
        ("1_000", "1_000"),
        ("5", 5),
        ("-1.5e+3", -1500.0),
        (".inf", ".inf"),
        ("~", None),
        ("'5'", "5"),
    ],
)
def test_yaml_does_not_guess_types(written, value):
    """Only what JSON would read as something else is no string."""
    assert parse(f"a: {written}\n", is_yaml=True) == {"a": value}


@pytest.mark.parametrize("name", ["1", "true", "1.50", "no", "~"])
def test_names_of_members_are_strings_as_they_are_written(name):
    """In YAML too."""
    assert parse(f"{name}: x\n", is_yaml=True) == {name: "x"}


def test_yaml_s_anchors_and_merges():
    """They are read, as they save repetition."""
    content = "a: &a\n  x: 1\nb:\n  <<: *a\n  y: 2\n"
    assert parse(content, is_yaml=True) == {"a": {"x": 1}, "b": {"x": 1, "y": 2}}


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_the_same_document_in_json_and_in_yaml(document):
    """Whatever a document is, both syntaxes say it."""
    assert parse(json.dumps(document)) == document
    assert parse(yaml.safe_dump(document), is_yaml=True) == plain(document)


@pytest.mark.parametrize(
    ("content", "is_yaml", "line", "column"),
    [
        ('{"a": 1,\n "b" 2}', False, 2, 6),
        ("", False, 1, 1),
        ("a: 1\nb: [\n", True, 3, 1),
        ("a: 'x\n", True, 2, 1),
    ],
)
def test_a_syntax_error_names_its_line(content, is_yaml, line, column):
    """Line and column are fields, and in the sentence."""
    with pytest.raises(MalformedProfile, match=rf"\(line {line}, column {column}\)") as raised:
        parse(content, is_yaml=is_yaml)
    assert (raised.value.line, raised.value.column) == (line, column)


@pytest.mark.parametrize("content", ["[1]", '"x"', "null", "5"])
def test_a_document_is_an_object(content):
    """Other JSON is none."""
    with pytest.raises(ProfileError, match="expected an object"):
        parse(content)


@pytest.mark.parametrize("depth", [200, 100_000])
def test_endless_nesting_is_an_error_and_not_a_crash(depth):
    """A hundred levels are far more than any profile has."""
    with pytest.raises(ProfileError, match="nested"):
        parse('{"a": ' + "[" * depth + "]" * depth + "}")


def test_yaml_can_make_no_python_objects():
    """The loader is the safe one."""
    with pytest.raises(MalformedProfile, match="could not determine a constructor"):
        parse("a: !!python/object/apply:os.getcwd []", is_yaml=True)


def test_a_yaml_alias_of_itself_is_an_error():
    """It would be an endless document."""
    with pytest.raises(ProfileError, match="nested"):
        parse("a: &a [*a]", is_yaml=True)


def test_a_file_that_can_not_be_read_says_why(tmp_path):
    """Missing, a folder, not UTF-8."""
    (tmp_path / "latin").write_bytes(b'{"host": "\xe9"}')
    for path, reason in (("none", "No such file"), (".", "Is a directory"), ("latin", "can't decode byte")):
        with pytest.raises(ProfileError, match=reason):
            read(tmp_path / path)
