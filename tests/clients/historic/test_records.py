"""One line of N-Quads, or what is told of a rejected row, as a record."""

from __future__ import annotations

from triplewire.clients.historic.records import records_of

SOSA = "http://www.w3.org/ns/sosa/"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
DATE_TIME = "<http://www.w3.org/2001/XMLSchema#dateTime>"
RECORDS = {
    '<urn:a> <urn:p> "x y" <urn:g> .': ("<urn:a>", 1, None, None, None),
    f"<urn:a> {TYPE} <{SOSA}Observation> .": ("<urn:a>", 1, True, None, None),
    f"<urn:a> {TYPE} <{SOSA}ObservationCollection> .": ("<urn:a>", 1, None, None, None),
    f"<urn:a> <{SOSA}madeBySensor> <urn:s> <urn:g> .": ("<urn:a>", 1, None, "urn:s", None),
    f'<urn:a> <{SOSA}madeBySensor> "<urn:s>" .': ("<urn:a>", 1, None, None, None),
    f'<urn:a> <{SOSA}resultTime> "1970-01-01T00:00:01.5Z"^^{DATE_TIME} .': (
        "<urn:a>",
        1,
        None,
        None,
        1_500_000,
    ),
    f'<urn:a> <{SOSA}resultTime> "soon" .': ("<urn:a>", 1, None, None, None),
    f'<urn:a> <urn:p> " {TYPE} <{SOSA}Observation> . <{SOSA}madeBySensor> <urn:s> " .': (
        "<urn:a>",
        1,
        None,
        None,
        None,
    ),
    '{"raw":"<urn:a>"}': ('{"raw":"<urn:a>"}', 0, None, None, None),
}


def test_each_line_is_a_record(spark):
    """With what it tells; a rejected row says nothing."""
    frame = spark.createDataFrame([(line,) for line in RECORDS], "line string")
    found = records_of(frame, rows=3).collect()
    assert [row.quads for row in found] == [line if line.startswith("<") else None for line in RECORDS]
    assert [(row.subject, row.made, row.typed, row.sensor, row.time) for row in found] == list(
        RECORDS.values()
    )
    assert {row.rows for row in found} == {3}
