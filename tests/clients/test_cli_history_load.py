from pathlib import Path

import pytest
from support.hand_made_parts import observations, write_parts

from triplewire.clients import cli, cli_history_load

LINES = observations(20)

FORM = """
base = "http://example.org/"
sensor = { column = "station" }

[source]
path = "a.csv"

[time]
column = "time"

[[observation]]
property = "temperature"
value = "value"
"""
JOINED = """
@prefix rml: <http://w3id.org/rml/> .
<#a> a rml:TriplesMap ;
  rml:logicalSource [ rml:source [ a rml:RelativePathSource ; rml:path "a.csv" ] ; rml:referenceFormulation rml:CSV ] ;
  rml:subjectMap [ rml:template "http://example.org/{id}" ] ;
  rml:predicateObjectMap [ rml:predicate <http://example.org/b> ; rml:objectMap [ rml:parentTriplesMap <#b> ;
    rml:joinCondition [ rml:child "id" ; rml:parent "id" ] ] ] .
<#b> a rml:TriplesMap ;
  rml:logicalSource [ rml:source [ a rml:RelativePathSource ; rml:path "b.csv" ] ; rml:referenceFormulation rml:CSV ] ;
  rml:subjectMap [ rml:template "http://example.org/b/{id}" ] .
"""


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """The user's state directory: never the real one."""
    folder = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture
def form(tmp_path):
    (tmp_path / "mapping.toml").write_text(FORM)
    return tmp_path / "mapping.toml"


def load(*arguments):
    return cli.run(["history", "load", *map(str, arguments)])


def told(capsys):
    return " ".join(capsys.readouterr().err.split())


def test_all_that_is_wrong_with_a_mapping_is_told(form, tmp_path, capsys):
    """Before Spark starts."""
    form.write_text(
        FORM.replace('column = "time"', 'colum = "time"').replace('value = "value"', 'valeu = "value"')
    )
    assert load(tmp_path / "a.csv", "--mapping", form) == 1

    words = told(capsys)
    assert "colum" in words
    assert "valeu" in words


def test_it_must_be_clear_which_source_a_file_is(tmp_path, capsys):
    """Of several."""
    (tmp_path / "mapping.ttl").write_text(JOINED)
    assert load(tmp_path / "a.csv", "--mapping", tmp_path / "mapping.ttl") == 2
    assert "which of the mapping's sources? NAME=SOURCE" in told(capsys)


@pytest.mark.parametrize("name", ["a,b.csv", "{a}.csv"])
def test_several_files_can_not_have_the_characters_of_a_glob(form, tmp_path, capsys, name):
    """One can."""
    assert load(tmp_path / name, tmp_path / "c.csv", "--mapping", form) == 2
    assert "braces or commas" in told(capsys)


@pytest.mark.parametrize("limit", ["101%", "some", "-1", "0.5"])
def test_a_limit_is_a_share_or_a_number(form, tmp_path, capsys, limit):
    """Else it is wrong usage."""
    assert load(tmp_path / "a.csv", "--mapping", form, f"--max-rejected={limit}") == 2
    assert "is no limit" in told(capsys)


def test_a_mapping_must_be_given_and_there(tmp_path):
    """Else it is wrong usage."""
    assert load(tmp_path / "a.csv") == 2
    assert load(tmp_path / "a.csv", "--mapping", tmp_path / "none.ttl") == 2


@pytest.fixture
def mapped(form, tmp_path, monkeypatch):
    """A load whose parts are made, and which did not come to load them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("station,time,value\n")
    arguments = (tmp_path / "a.csv", "--mapping", form)
    monkeypatch.setattr(
        cli_history_load, "_map", lambda job, *_, **__: made.append(write_parts(Path(job.out), LINES))
    )
    made = []
    assert load(*arguments, "--url", "http://127.0.0.1:9") == 3
    return arguments, made


def test_a_load_goes_on_with_the_parts_that_were_made(fake, mapped, capsys, state):
    """By the same command; when all is loaded they are gone."""
    arguments, made = mapped
    assert load(*arguments, "--url", "http://127.0.0.1:9") == 3
    assert "mapped before" in told(capsys)
    assert len(made) == 1
    assert Path(made[0].directory).is_relative_to(state)
    assert Path(made[0].directory).is_dir()

    assert load(*arguments, "--url", fake.http) == 0
    assert len(made) == 2  # another destination is another load
    assert len(fake.store) == len(LINES)
    assert not Path(made[1].directory).exists()
    assert load(*arguments, "--url", fake.http) == 0
    assert len(made) == 3


@pytest.mark.parametrize("change", ["a.csv", "mapping.toml", "--anew", "--max-rejected=5"])
def test_other_inputs_are_mapped_again(mapped, change, tmp_path):
    """Or the same, where it is asked for."""
    arguments, made = mapped
    if not change.startswith("-"):
        with (tmp_path / change).open("a") as file:
            file.write("\n")
    more = (change,) if change.startswith("-") else ()
    assert load(*arguments, *more, "--url", "http://127.0.0.1:9") == 3
    assert len(made) == 2


def test_parts_are_left_where_they_are_asked_for(fake, mapped, tmp_path):
    """And are loaded where a destination is given as well."""
    arguments, made = mapped
    assert load(*arguments, "--out", "out") == 0
    assert made[1].directory == str(tmp_path / "out")
    assert not fake.requests
    assert load(*arguments, "--out", tmp_path / "out", "--url", fake.http) == 0

    assert len(made) == 2
    assert len(fake.store) == len(LINES)
    assert (tmp_path / "out" / "manifest.json").exists()


def test_without_spark_it_says_how_to_get_it(form, tmp_path, capsys, monkeypatch):
    """The mapping has been read before."""
    import sys

    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.delitem(sys.modules, "triplewire.clients.historic.spark_session", raising=False)
    (tmp_path / "a.csv").write_text("station,time,value\n")
    assert load(tmp_path / "a.csv", "--mapping", form) == 1
    assert "pip install 'triplewire[spark]'" in told(capsys)
