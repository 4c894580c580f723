"""Profiles made of several files."""

from __future__ import annotations

import json

import pytest

from triplewire.broker.errors import ProfileError
from triplewire.jsap.includes import deeply, load, merged, resolved


@pytest.fixture
def write(tmp_path):
    """Writes profiles into one folder and gives the path of the first."""

    def files(**documents):
        for name, document in documents.items():
            path = tmp_path / f"{name}.jsap"
            path.write_text(json.dumps(document))
        return tmp_path / f"{next(iter(documents))}.jsap"

    return files


def test_a_child_wins_over_its_parent(write):
    """Children are loaded after the parent: their scalars, entries and namespaces replace its own."""
    path = write(
        parent={
            "include": ["child.jsap"],
            "host": "parent",
            "namespaces": {"a": "urn:1", "b": "urn:1"},
            "queries": {"A": {"sparql": "1", "forcedBindings": {}}, "B": {"sparql": "1"}},
            "sparql11protocol": {"port": 1, "query": {"path": "/1", "method": "GET"}},
        },
        child={
            "host": "child",
            "namespaces": {"b": "urn:2"},
            "queries": {"A": {"sparql": "2"}},
            "sparql11protocol": {"query": {"path": "/2"}},
        },
    )
    assert load(path) == {
        "host": "child",
        "namespaces": {"a": "urn:1", "b": "urn:2"},
        "queries": {"A": {"sparql": "2"}, "B": {"sparql": "1"}},
        "sparql11protocol": {"port": 1, "query": {"path": "/2", "method": "GET"}},
    }


def test_graphs_are_united(write):
    """As sets, whatever their spelling."""
    path = write(
        parent={
            "#include": "child.jsap",
            "graphs": {"default_graph_uri": "urn:1", "using-graph-uri": ["urn:3"]},
        },
        child={"graphs": {"default-graph-uri": ["urn:1", "urn:2"], "named-graph-uri": "urn:4"}},
    )
    assert load(path)["graphs"] == {
        "default-graph-uri": ["urn:1", "urn:2"],
        "using-graph-uri": ["urn:3"],
        "named-graph-uri": ["urn:4"],
    }


def test_extended_is_merged_to_its_depths(write):
    """Arrays are appended, primitives overwritten, objects merged."""
    path = write(
        parent={"include": "child.jsap", "extended": {"a": [1], "b": {"c": 1, "d": [1]}, "e": 1}},
        child={"extended": {"a": [2], "b": {"c": 2, "d": [2]}, "f": None}},
    )
    assert load(path)["extended"] == {"a": [1, 2], "b": {"c": 2, "d": [1, 2]}, "e": 1, "f": None}
    assert merged({"extended": [1]}, {"extended": [2]}) == {"extended": [1, 2]}


def test_the_last_child_wins_and_grandchildren_over_children(write):
    """In the order of the array, each with its own children."""
    path = write(
        parent={"include": ["one.jsap", "two.jsap"], "host": "parent", "x": 0},
        one={"include": "three.jsap", "host": "one", "x": 1},
        two={"host": "two"},
        three={"host": "three", "x": 3},
    )
    assert load(path) == {"host": "two", "x": 3}


def test_two_children_may_include_the_same_file(write):
    """That is no circle."""
    path = write(
        parent={"include": ["one.jsap", "two.jsap"]},
        one={"include": "base.jsap"},
        two={"include": "base.jsap"},
        base={"host": "base"},
    )
    assert load(path) == {"host": "base"}


def test_names_of_files(tmp_path, write):
    """Relative to the file that includes, absolute, as file: URIs, percent-encoded, JSON or YAML."""
    folder = tmp_path / "sub dir"
    folder.mkdir()
    (folder / "child.ysap").write_text("include: ../base.jsap\nx: 1\n")
    for name in (
        "sub dir/child.ysap",
        "file:///sub%20dir/child.ysap",
        (folder / "child.ysap").as_uri(),
        str(folder / "child.ysap"),
    ):
        path = write(parent={"include": name}, base={"host": "base"})
        assert load(path) == {"host": "base", "x": 1}, name


def test_a_file_uri_at_the_root_means_beside_this_file(write):
    """SEPA's own files say file:///queries.jsap of the file beside them."""
    assert load(write(parent={"include": ["file:///child.jsap"]}, child={"host": "c"})) == {"host": "c"}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("none.jsap", "there is no file .*none.jsap to include"),
        ("file:///none.jsap", "there is no file .*none.jsap to include"),
        ("http://localhost/a.jsap", "not a file"),
        ("http://[", "names no file"),
        ("a\0b", "there is no file"),
    ],
)
def test_a_file_that_is_not_there(write, name, reason):
    """The path leads to the name in the array."""
    path = write(parent={"include": ["child.jsap", name]}, child={})
    with pytest.raises(ProfileError, match=reason) as raised:
        load(path)
    assert raised.value.path == "include[1]"


def test_a_circle_is_an_error(write):
    """The way around is in the sentence."""
    path = write(a={"include": "b.jsap"}, b={"include": "c.jsap"}, c={"include": "b.jsap"})
    with pytest.raises(ProfileError, match=r"itself: b\.jsap -> c\.jsap -> b\.jsap"):
        load(path)


def test_the_depth_of_includes_is_bounded(write):
    """Sixteen files deep is deeper than anybody means."""
    files = {f"f{index}": {"include": f"f{index + 1}.jsap"} for index in range(30)}
    with pytest.raises(ProfileError, match="files deep"):
        load(write(**files, f30={}))


def test_a_child_that_is_malformed_is_named(tmp_path, write):
    """The error says which of the files it is."""
    path = write(parent={"include": "child.jsap"})
    (tmp_path / "child.jsap").write_text("{")
    with pytest.raises(ProfileError, match=r"child\.jsap is not JSON"):
        load(path)


def test_a_document_without_a_folder_includes_nothing():
    """It may come from anywhere: it reads no files."""
    with pytest.raises(ProfileError, match="no folder to look for 'x'") as raised:
        resolved({"include": "x"}, None)
    assert raised.value.path == "include[0]"


def test_objects_and_others_do_not_mix(write):
    """An object in one file and a string in the other have no sum."""
    path = write(parent={"include": "child.jsap", "queries": {}}, child={"queries": []})
    with pytest.raises(ProfileError, match="queries: an object in one file, an array in another"):
        load(path)


def test_merging_changes_neither_side():
    """Both stay the caller's."""
    parent, child = {"a": {"b": [1]}}, {"a": {"c": 1, "b": [2]}}
    assert deeply(parent, child, append=True) == {"a": {"b": [1, 2], "c": 1}}
    assert (parent, child) == ({"a": {"b": [1]}}, {"a": {"c": 1, "b": [2]}})
