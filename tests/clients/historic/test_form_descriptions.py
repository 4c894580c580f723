from __future__ import annotations

import pytest
from support.mapping_files import form
from support.plain_mapping import plain_mapping_of

from triplewire.clients.historic.mapping_problems import MappingError

HEAD = """
base = "https://example.org/"
sensor = { column = "s" }
[source]
path = "a.csv"
[time]
column = "t"
[[observation]]
property = "temperature"
value = "v"
[[description]]
"""
XSD = "http://www.w3.org/2001/XMLSchema#"


def test_sensors_from_a_file_of_their_own(tmp_path):
    """Named as the observations' sensors are, so that they meet."""
    mapping = form(
        tmp_path,
        HEAD
        + """
        sensor = { column = "id" }
        type = ["sosa:Sensor", "sosa:Platform"]
        label = "name"
        language = "de"
        latitude = "lat"
        longitude = "lon"
        source = { path = "stations.csv" }
        properties = { "saref:hasModel" = "model" }
        """,
    )
    rows = {
        "a.csv": [{"s": "7", "t": "2026-07-01", "v": "1"}],
        "stations.csv": [{"id": "7", "name": "Dach", "lat": "52.50", "lon": "-13.4", "model": None}],
    }
    lines, broken = plain_mapping_of(rows, mapping)
    assert not broken
    start = "<https://example.org/sensor/7> "
    assert {line.removeprefix(start) for line in lines if line.startswith(start)} == {
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/ns/sosa/Sensor> .",
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/ns/sosa/Platform> .",
        '<http://www.w3.org/2000/01/rdf-schema#label> "Dach"@de .',
        f'<http://www.w3.org/2003/01/geo/wgs84_pos#lat> "52.5"^^<{XSD}decimal> .',
        f'<http://www.w3.org/2003/01/geo/wgs84_pos#long> "-13.4"^^<{XSD}decimal> .',
    }
    assert f"{start.strip()} ." in {line.split(" ", 2)[2] for line in lines if "madeBySensor" in line}


def test_what_is_the_same_for_each_row(tmp_path):
    """Constants: the description of one sensor needs no file."""
    mapping = form(
        tmp_path,
        HEAD + 'sensor = "sensor/roof"\nlabel = { text = "Roof" }\nlatitude = 52.5\naltitude = 34\n',
    )
    lines, _ = plain_mapping_of({"a.csv": [{"s": "7", "t": "2026-07-01", "v": "1"}]}, mapping)
    assert {
        line.split(" ", 2)[2] for line in lines if line.startswith("<https://example.org/sensor/roof>")
    } == {
        '"Roof" .',
        f'"52.5"^^<{XSD}decimal> .',
        f'"34"^^<{XSD}decimal> .',
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('label = "name"', r"description\[1\]: must describe one of sensor, feature"),
        ('sensor = "a"\nfeature = "b"\nlabel = "x"', "and 2 stand there"),
        ('sensor = "a"', r"description\[1\]: says nothing"),
        ('sensor = "a"\nlabl = "x"', r"description\[1\]\.labl: is no key; did you mean label"),
        ('sensor = "a"\nlabel = "x"\nlanguage = "german"', "'german' is no language tag"),
        ('sensor = "a"\nlabel = { txt = "x" }', r"description\[1\]\.label\.text: is missing"),
        ('sensor = "a"\ntype = "q:x"', "the prefix q: is not known"),
        ('sensor = "a"\nlatitude = true', r"description\[1\]\.latitude: must be a text"),
        ('sensor = "a"\nlabel = "x"\nsource = { path = "a.csv" }', "is the form's source"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, problem):
    """By its key."""
    with pytest.raises(MappingError, match=problem):
        form(tmp_path, HEAD + text)
