"""What runs the book's blocks finds them all, and can tell that something is wrong."""

from __future__ import annotations

import pytest
from support.book_blocks import assert_like, blocks_of, commands_of, look_at

PAGE = """# A page

```sh
triplewire query 'SELECT * { ?s ?p ?o }'
```

```{ .json .sent title="a.json" }
{}
```
"""


def test_fences_are_found_with_what_they_say():
    """A language alone, or classes and a title."""
    plain, full = blocks_of(PAGE)
    assert (plain.language, plain.classes, plain.title) == ("sh", frozenset(), "")
    assert plain.text == "triplewire query 'SELECT * { ?s ?p ?o }'\n"
    assert (full.language, full.classes, full.title) == ("json", {"sent"}, "a.json")


def test_commands_are_found_in_lines_and_over_their_ends():
    """Behind pipes and variables, too; not in comments."""
    text = "# triplewire serve\nexport A=1\necho x | triplewire publish URL \\\n    --source a\n"
    assert commands_of(text) == [["triplewire", "publish", "URL", "--source", "a"]]


@pytest.mark.parametrize(
    "text",
    [
        "triplewire serve --dta data",
        "triplewire journal restore a b --when 1",
        "triplewire history load --lod",
        "if true; then",
    ],
)
def test_what_can_not_be_run_is_looked_at(text):
    """An option that there is not, or a text that is no shell's."""
    with pytest.raises(AssertionError):
        look_at(text)


def test_what_can_be_run_elsewhere_passes():
    """With options of a command in a group, and those that stand behind `=`."""
    look_at("sudo triplewire history load --mapping m.toml --max-rejected=2% a.csv && systemctl restart x")


@pytest.mark.parametrize(
    ("came", "expected", "is_like"),
    [
        ({"a": ["sepa://1"]}, {"a": ["sepa://…"]}, True),
        ({"a": ["x"]}, {"a": ["sepa://…"]}, False),
        ({"a": [1, 2]}, {"a": [1]}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"a": 1}, {"a": 2}, False),
    ],
)
def test_json_is_compared_but_for_the_dots(came, expected, is_like):
    """Members and lengths as well."""
    if is_like:
        assert_like(came, expected)
    else:
        with pytest.raises(AssertionError):
            assert_like(came, expected)
