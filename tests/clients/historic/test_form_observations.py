from __future__ import annotations

import pytest
from support.mapping_files import form
from support.plain_mapping import plain_mapping

from triplewire.clients.historic.mapping_problems import MappingError
from triplewire.clients.historic.reasons import Reason

HEAD = """
base = "https://example.org/"
sensor = { column = "s" }
[source]
path = "a.csv"
[time]
column = "t"
zone = "Europe/Berlin"
"""
ONE = """
[[observation]]
property = "temperature"
value = "v"
"""
SOSA = "http://www.w3.org/ns/sosa/"
QUDT = "http://qudt.org/schema/qudt/"
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def made(directory, text: str, *rows: dict[str, str | None]):
    return plain_mapping(rows, form(directory, text))


def about(lines, subject: str) -> set[tuple[str, str]]:
    """Predicates and objects of a subject below the base."""
    start = f"<https://example.org/{subject}> "
    pairs = (
        line.removeprefix(start).removesuffix(" .").split(" ", 1) for line in lines if line.startswith(start)
    )
    return {(predicate[1:-1], object_) for predicate, object_ in pairs}


def test_an_observation_in_sosa(tmp_path):
    """Who measured what, when, and what came out; the time in UTC, the number in its canonical form."""
    lines, broken = made(tmp_path, HEAD + ONE, {"s": "a b", "t": "2026-07-01 10:00", "v": "20.50"})
    assert not broken
    assert len(lines) == 5
    assert about(lines, "observation/a%20b/temperature/2026-07-01T08%3A00%3A00Z") == {
        (RDF + "type", f"<{SOSA}Observation>"),
        (SOSA + "madeBySensor", "<https://example.org/sensor/a%20b>"),
        (SOSA + "observedProperty", "<https://example.org/temperature>"),
        (SOSA + "resultTime", f'"2026-07-01T08:00:00Z"^^<{XSD}dateTime>'),
        (SOSA + "hasSimpleResult", f'"2.05E1"^^<{XSD}double>'),
    }


def test_a_unit_gives_a_quantity_value(tmp_path):
    """QUDT's, beside the simple result, with an IRI that is as stable as the observation's."""
    text = HEAD + ONE + 'unit = "°C"\ndatatype = "decimal"\n'
    lines, _ = made(tmp_path, text, {"s": "a", "t": "2026-07-01 10:00", "v": "20.50"})
    end = "a/temperature/2026-07-01T08%3A00%3A00Z"
    assert (SOSA + "hasResult", f"<https://example.org/result/{end}>") in about(lines, f"observation/{end}")
    assert about(lines, f"result/{end}") == {
        (RDF + "type", f"<{QUDT}QuantityValue>"),
        (QUDT + "numericValue", f'"20.5"^^<{XSD}decimal>'),
        (QUDT + "unit", "<http://qudt.org/vocab/unit/DEG_C>"),
    }


def test_the_same_moment_is_the_same_observation(tmp_path):
    """However it is written: so that what is loaded twice is there once."""
    rows = [
        {"s": "a", "t": text, "v": "1"}
        for text in (
            "2026-07-01 10:00",
            "2026-07-01T10:00:00.000",
            "2026-07-01T08:00Z",
            "2026-07-01T04:00:00-04:00",
        )
    ]
    once, _ = made(tmp_path, HEAD + ONE, rows[0])
    lines, broken = made(tmp_path, HEAD + ONE, *rows)
    assert (lines, broken) == (once, [])


def test_other_sensors_properties_and_times_are_other_observations(tmp_path):
    """Also where a value has a slash in it."""
    text = HEAD + ONE + '[[observation]]\nproperty = "humidity"\nvalue = "w"\n'
    rows = [
        {"s": sensor, "t": time, "v": "1", "w": "2"}
        for sensor in ("a", "a/temperature", "b")
        for time in ("2026-07-01", "2026-07-02")
    ]
    lines, _ = made(tmp_path, text, *rows)
    assert sum(line.endswith(f"<{SOSA}Observation> .") for line in lines) == 12


def test_a_gap_is_no_observation(tmp_path):
    """Nothing of it is made, unless gaps are to be set aside."""
    row = {"s": "a", "t": "2026-07-01", "v": None}
    assert made(tmp_path, HEAD + ONE, row) == (set(), [])
    assert made(tmp_path, HEAD + ONE + 'gaps = "reject"\n', row) == (set(), [(0, Reason.MISSING_VALUE)])
    assert made(tmp_path, 'gaps = "reject"\n' + HEAD + ONE, row) == (set(), [(0, Reason.MISSING_VALUE)])


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"s": None, "t": "2026-07-01", "v": "1"}, Reason.MISSING_VALUE),
        ({"s": "a", "t": None, "v": "1"}, Reason.MISSING_VALUE),
        ({"s": "a", "t": "2026-02-30", "v": "1"}, Reason.IMPOSSIBLE_TIME),
        ({"s": "a", "t": "2026-03-29 02:30", "v": "1"}, Reason.IMPOSSIBLE_TIME),
        ({"s": "a", "t": "2026-07-01", "v": "1,5"}, Reason.BAD_NUMBER),
        ({"s": "a", "t": "2026-07-01", "v": "NULL"}, Reason.BAD_NUMBER),
    ],
)
def test_a_broken_row_gives_nothing(tmp_path, row, reason):
    """Not half an observation."""
    assert made(tmp_path, HEAD + ONE, row) == (set(), [(0, reason)])


LONG = (
    HEAD
    + """
[[observation]]
property = { column = "kind", names = { t = "temperature", rh = "humidity" } }
value = "v"
unit = { column = "u" }
"""
)


def test_a_long_file_has_its_property_in_a_column(tmp_path):
    """And its unit in another, by its symbol."""
    rows = [
        {"s": "a", "t": "2026-07-01", "kind": "t", "v": "1", "u": "°C"},
        {"s": "a", "t": "2026-07-01", "kind": "rh", "v": "2", "u": "%"},
    ]
    lines, broken = made(tmp_path, LONG, *rows)
    assert not broken
    time = "2026-06-30T22%3A00%3A00Z"
    assert (QUDT + "unit", "<http://qudt.org/vocab/unit/PERCENT>") in about(lines, f"result/a/rh/{time}")
    assert (SOSA + "observedProperty", "<https://example.org/temperature>") in about(
        lines, f"observation/a/t/{time}"
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": "x"}, Reason.UNKNOWN_NAME),
        ({"u": "x"}, Reason.UNKNOWN_NAME),
        ({"u": None}, Reason.MISSING_VALUE),
    ],
)
def test_a_name_that_no_table_has_breaks_the_row(tmp_path, change, reason):
    """So that no observation of nothing is made."""
    row = {"s": "a", "t": "2026-07-01", "kind": "t", "v": "1", "u": "°C"} | change
    lines, broken = made(tmp_path, LONG, row)
    assert (lines, broken) == (set(), [(0, reason)])


def test_a_feature_of_the_row_is_part_of_the_name(tmp_path):
    """One sensor looks at two rooms at once; a constant one is not."""
    text = 'feature = { column = "room" }\n' + HEAD + ONE
    rows = [{"s": "a", "t": "2026-07-01", "v": "1", "room": room} for room in ("x", "y")]
    lines, _ = made(tmp_path, text, *rows)
    for room in "xy":
        found = about(lines, f"observation/a/temperature/{room}/2026-06-30T22%3A00%3A00Z")
        assert (SOSA + "hasFeatureOfInterest", f"<https://example.org/feature/{room}>") in found
    lines, _ = made(tmp_path, 'feature = "room/x"\n' + HEAD + ONE, {"s": "a", "t": "2026-07-01", "v": "1"})
    assert about(lines, "observation/a/temperature/2026-06-30T22%3A00%3A00Z")


def test_procedure_phenomenon_time_and_graph(tmp_path):
    """Where they are asked for; an instant of OWL-Time has one IRI for all that happened then."""
    text = 'procedure = "manual"\ngraph = "g"\n' + HEAD.replace("[time]", "[time]\nphenomenon = true") + ONE
    lines, _ = made(tmp_path, text, {"s": "a", "t": "2026-07-01T08:00Z", "v": "1"})
    assert all(line.endswith(" <https://example.org/g> .") for line in lines)
    found = about(
        {line.replace(" <https://example.org/g> .", " .") for line in lines}, "time/2026-07-01T08%3A00%3A00Z"
    )
    assert found == {
        (RDF + "type", "<http://www.w3.org/2006/time#Instant>"),
        ("http://www.w3.org/2006/time#inXSDDateTimeStamp", f'"2026-07-01T08:00:00Z"^^<{XSD}dateTimeStamp>'),
    }
    assert any(f"<{SOSA}usedProcedure> <https://example.org/manual>" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (HEAD, "observation: is missing"),
        (HEAD + '[[observation]]\nvalue = "v"\n', r"observation\[1\]\.property: is missing"),
        (HEAD + '[[observation]]\nproperty = "p"\n', r"observation\[1\]\.value: is missing"),
        (HEAD + ONE + 'unt = "°C"\n', r"observation\[1\]\.unt: is no key; did you mean unit"),
        (HEAD + ONE + 'unit = "°X"\n', r"observation\[1\]\.unit: '°X' is not known"),
        (HEAD + ONE + 'unit = "°C"\ndatatype = "string"\n', r"observation\[1\]\.unit: a string has no unit"),
        (HEAD + ONE + ONE, r"observation\[2\]\.property: gives the IRIs that observation\[1\] gives"),
        (HEAD.replace("sensor", "sensr") + ONE, r"observation\[1\]\.sensor: is missing"),
        (HEAD.replace('column = "t"', "") + ONE, r"time\.column: there must be a column, or a template"),
        (
            HEAD.replace('column = "t"', 'template = "t"') + ONE,
            r"time\.column: the template 't' has no column in it",
        ),
        (HEAD.replace('column = "t"', 'template = "{t"') + ONE, r"time\.column: '{t' is no template"),
        ('gaps = "keep"\n' + HEAD + ONE, "gaps: must be one of skip, reject"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, problem):
    """By its key, with what may have been meant."""
    with pytest.raises(MappingError, match=problem):
        form(tmp_path, text)


def test_a_name_of_its_own_tells_two_of_one_property_apart(tmp_path):
    """The highest and the lowest temperature of a day are the same property, measured twice."""
    text = HEAD + ONE + 'name = "highest"\n' + ONE.replace('"v"', '"w"') + 'name = "lowest"\n'
    lines, _ = made(tmp_path, text, {"s": "a", "t": "2026-07-01", "v": "2", "w": "1"})
    for name, value in (("highest", "2.0E0"), ("lowest", "1.0E0")):
        found = about(lines, f"observation/a/{name}/2026-06-30T22%3A00%3A00Z")
        assert (SOSA + "hasSimpleResult", f'"{value}"^^<{XSD}double>') in found


def test_a_day_and_an_hour_in_two_columns(tmp_path):
    """They are one moment, which has one spelling in the observation's IRI; without one of them there is none."""
    text = HEAD.replace('column = "t"', 'template = "{day} {hour}"\nformats = "d.M.yyyy H:mm"') + ONE
    rows = [
        {"s": "a", "day": "1.7.2026", "hour": "10:00", "v": "1"},
        {"s": "a", "day": "1.7.2026", "hour": None, "v": "1"},
        {"s": "a", "day": "1.7.2026", "hour": "25:00", "v": "1"},
    ]
    lines, broken = made(tmp_path, text, *rows)
    assert broken == [(1, Reason.MISSING_VALUE), (2, Reason.IMPOSSIBLE_TIME)]
    found = about(lines, "observation/a/temperature/2026-07-01T08%3A00%3A00Z")
    assert (SOSA + "resultTime", f'"2026-07-01T08:00:00Z"^^<{XSD}dateTime>') in found
