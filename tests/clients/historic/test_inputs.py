import os

import pytest

from triplewire.clients.historic.inputs import Inputs, fingerprint


@pytest.fixture
def files(tmp_path):
    (tmp_path / "mapping.toml").write_text("a")
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    for name in ("one.csv", "two.csv", "folder/three.csv", "folder/deep/four.csv"):
        (tmp_path / name).write_text(name)
    return tmp_path


def taken(files, *sources, more=()):
    return fingerprint(files / "mapping.toml", [str(files / source) for source in sources], *more)


@pytest.mark.parametrize("source", ["one.csv", "*.csv", "folder", "f*/deep"])
def test_the_same_files_are_the_same_inputs(files, source):
    """However they are named."""
    assert taken(files, source) == taken(files, source)


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("one.csv", "one.csv"),
        ("*.csv", "two.csv"),
        ("*.csv", "new.csv"),
        ("folder", "folder/deep/four.csv"),
        ("one.csv", "mapping.toml"),
    ],
)
def test_a_change_makes_other_inputs(files, source, changed):
    """Of a file's content or time, of which files there are, or of the mapping."""
    before = taken(files, source)
    with (files / changed).open("a") as file:
        file.write("more")

    assert taken(files, source) != before


def test_a_file_that_was_written_again_is_another(files):
    """By its time."""
    before = taken(files, "one.csv")
    os.utime(files / "one.csv", (1, 1))
    assert taken(files, "one.csv") != before


def test_what_else_matters_is_part_of_it(files):
    """As the options of a command."""
    assert (
        taken(files, "one.csv")
        != taken(files, "one.csv", more=("x",))
        != taken(files, "one.csv", more=("y",))
    )


def test_sources_elsewhere_are_their_paths(files):
    """Nobody asks for their files."""
    one, same, other = (fingerprint(files / "mapping.toml", [f"hdfs://a/{name}"]) for name in "bbc")
    assert one == same != other


def test_the_inputs_of_a_directory_are_kept(tmp_path):
    """And forgotten."""
    environment = {"XDG_STATE_HOME": str(tmp_path)}
    inputs = Inputs("hdfs://a/parts", environment)
    assert not inputs.made("f", "m")
    inputs.keep("f", "m")

    assert Inputs("hdfs://a/parts/", environment).made("f", "m")
    assert not inputs.made("f", "other")
    assert not inputs.made("other", "m")
    assert not Inputs("hdfs://a/other", environment).made("f", "m")
    inputs.forget()
    inputs.forget()
    assert not inputs.made("f", "m")


def test_what_is_no_record_is_none(tmp_path):
    """Then the parts are made again."""
    inputs = Inputs("parts", {"XDG_STATE_HOME": str(tmp_path)})
    inputs.keep("f", "m")
    (path,) = (tmp_path / "triplewire").iterdir()
    path.write_text("[" * 60_000)
    assert not inputs.made("f", "m")
