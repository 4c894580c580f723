"""Joins of two sources make what plain Python makes of the same rows."""

from __future__ import annotations

import csv
import json
from functools import reduce

import pytest
from support.plain_mapping import plain_mapping_of
from support.record_lines import lines_in

from triplewire.clients.historic.execution import carried_out, joined, records
from triplewire.clients.historic.plan import (
    Constant,
    Join,
    Mapping,
    Number,
    Reference,
    Rule,
    Source,
    Template,
    TermMap,
    TermType,
)
from triplewire.clients.historic.sources import table_of

READINGS = (
    {"id": "1", "station": "a", "value": "20.5", "kind": "t"},
    {"id": "2", "station": "b", "value": "21", "kind": "t"},
    {"id": "3", "station": "nowhere", "value": "22", "kind": "t"},
    {"id": "4", "station": "", "value": "23", "kind": "h"},
    {"id": "5", "station": "a", "value": "broken", "kind": "t"},
    {"id": "6", "station": "a/b c", "value": "24", "kind": ""},
    {"id": "7", "station": "bad iri", "value": "25", "kind": "t"},
)
STATIONS = (
    {"name": "a", "site": "north", "kinds": ["t", "h"]},
    {"name": "a", "site": "south", "kinds": ["h"]},
    {"name": "b", "site": None, "kinds": ["t"]},
    {"name": "a/b c", "site": "east 1", "kinds": []},
    {"name": "bad iri", "site": "<x>", "kinds": ["t"]},
    {"name": None, "site": "west", "kinds": ["t"]},
)
ID = TermMap(Template(("http://e/", Reference("id"))), TermType.IRI)
SITE = TermMap(Template(("http://site/", Reference("site", ("site",)))), TermType.IRI)
RAW_SITE = TermMap(Template(("http://site/", Reference("site", ("site",)))), TermType.LITERAL)
NAME = Reference("name", ("name",))
STATION = Reference("station")


def rule(number, found, join, **more):
    return Rule("readings", ID, TermMap(Constant(f"urn:{number}"), TermType.IRI), found, join=join, **more)


RULES = (
    Rule(
        "readings",
        ID,
        TermMap(Constant("urn:value"), TermType.IRI),
        TermMap(Reference("value"), TermType.LITERAL, reading=Number()),
    ),
    rule(0, SITE, Join("stations", ((STATION, NAME),))),
    rule(1, RAW_SITE, Join("stations", ((STATION, NAME), (Reference("kind"), Reference("k", ("kinds", 0)))))),
    rule(2, SITE, Join("stations"), given=(Reference("kind"),)),
    rule(3, SITE, Join("stations", ((Template(("s-", STATION)), Template(("s-", NAME))),))),
    rule(4, SITE, Join("stations", ((Constant("a"), NAME),)), graph=TermMap(Constant("urn:g"), TermType.IRI)),
    # The object is a parent's subject that is broken for one of them: it is passed over.
    rule(
        5,
        TermMap(Reference("site", ("site",)), TermType.IRI, base="http://raw/"),
        Join("stations", ((STATION, NAME),)),
    ),
)


@pytest.fixture(scope="module")
def made(spark, tmp_path_factory):
    """The mapping, and the records that Spark makes of it."""
    folder = tmp_path_factory.mktemp("joins")
    with (folder / "readings.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(READINGS[0]))
        writer.writeheader()
        writer.writerows(READINGS)
    (folder / "stations.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in STATIONS))
    sources = (
        Source("readings", str(folder / "readings.csv"), "csv"),
        Source("stations", str(folder / "stations.jsonl"), "jsonl"),
    )
    mapping = Mapping(sources, RULES, "http://base/")
    tables = {source.name: table_of(spark, source) for source in sources}
    rows = carried_out(tables["readings"], mapping)
    frames = [records(rows), *joined(rows, tables, mapping.base_iri)]
    assert len(frames) == len(RULES)
    return mapping, lines_in(reduce(lambda one, other: one.unionByName(other), frames))


def test_joins_are_equal_to_plain_python(made):
    """With no key, one, two, templates and constants; nulls agree with nothing; broken rows on both sides."""
    mapping, found = made
    nulled = [{name: value or None for name, value in row.items()} for row in READINGS]
    expected, broken = plain_mapping_of({"readings": nulled, "stations": STATIONS}, mapping)
    assert {line for line in found if line.startswith("<")} == expected
    rejected = [json.loads(line) for line in found if not line.startswith("<")]
    assert [
        (row["source"], row["place"] - 1, row["reasons"]) for row in rejected if row["reasons"] != ["header"]
    ] == [(name, number, [str(reason)]) for name, number, reason in broken]
    assert {f"urn:{number}" for number in range(6)} <= {
        line.split("> <")[1].partition(">")[0] for line in expected
    }
