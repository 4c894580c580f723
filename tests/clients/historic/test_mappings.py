from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from support.plain_mapping import plain_mapping

from triplewire.clients.historic.mappings import read_mapping
from triplewire.clients.historic.reasons import Reason

EXAMPLES = Path(__file__).parents[3] / "conf" / "historic"
WEATHER = """date,precipitation,temp_max,temp_min,wind,weather
2012/01/01,0.0,12.8,5.0,4.7,drizzle
2012/01/02,10.9,10.6,,4.5,rain
"""


def rows(text: str) -> list[dict[str, str | None]]:
    return [{name: cell or None for name, cell in row.items()} for row in csv.DictReader(io.StringIO(text))]


def test_the_ending_tells_the_language(tmp_path):
    """TOML is the form, all else RML with the base that is given."""
    form = read_mapping(EXAMPLES / "seattle-weather.toml", "http://example.com/")
    assert form.base_iri == "https://example.org/seattle/"
    assert (
        read_mapping(EXAMPLES / "seattle-weather.ttl", "http://example.com/").base_iri
        == "http://example.com/"
    )


@pytest.mark.parametrize("name", ["seattle-weather.toml", "seattle-weather.ttl", "seattle-temps.toml"])
def test_the_examples_are_right(name):
    """What the documentation shows can be loaded, from files beside it or given on the command line."""
    mapping = read_mapping(EXAMPLES / name)
    assert mapping.sources[0].path.startswith(str(EXAMPLES))
    assert mapping.rules


def test_the_two_examples_agree_on_the_highest_temperature():
    """The form and RML, on the same rows: the same numbers."""
    found = []
    for name in ("seattle-weather.toml", "seattle-weather.ttl"):
        lines, broken = plain_mapping(rows(WEATHER), read_mapping(EXAMPLES / name))
        assert not broken
        found.append(
            sorted(
                line.split(" ", 2)[2]
                for line in lines
                if "/observation/sea-tac/maximumTemperature/" in line and "hasSimpleResult" in line
            )
        )
    assert (
        found[0]
        == found[1]
        == [f'"{value}"^^<http://www.w3.org/2001/XMLSchema#double> .' for value in ("1.06E1", "1.28E1")]
    )


def test_a_gap_gives_no_observation():
    """Ten cells, one of them empty: nine observations."""
    lines, _ = plain_mapping(rows(WEATHER), read_mapping(EXAMPLES / "seattle-weather.toml"))
    assert sum(line.endswith("<http://www.w3.org/ns/sosa/Observation> .") for line in lines) == 9


def test_the_hour_that_spring_leaves_out_is_set_aside():
    """The real file has it: 14 March 2010, two o'clock, in Seattle."""
    text = "date,temp\n2010/03/14 01:00,40.1\n2010/03/14 02:00,40.0\n2010/03/14 03:00,39.8\n"
    lines, broken = plain_mapping(rows(text), read_mapping(EXAMPLES / "seattle-temps.toml"))
    assert broken == [(1, Reason.IMPOSSIBLE_TIME)]
    times = sorted(line.split('"')[1] for line in lines if "resultTime" in line)
    assert times == ["2010-03-14T09:00:00Z", "2010-03-14T10:00:00Z"]
