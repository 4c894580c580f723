"""Numbers out of payloads of any kind."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode
from support.applications import MONITORING

from triplewire.broker.errors import ProfileError
from triplewire.conf.monitoring.formats import Formats, Reading, number
from triplewire.jsap import Profile

XSD = "http://www.w3.org/2001/XMLSchema#"
SHIPPED = Formats.of(Profile.load(MONITORING).extended)


def decimal(text: str) -> Literal:
    return Literal(text, datatype=NamedNode(XSD + "decimal"))


def double(text: str) -> Literal:
    return Literal(text, datatype=NamedNode(XSD + "double"))


def formats(*items: dict) -> Formats:
    return Formats.of({"formats": list(items)})


@pytest.mark.parametrize(
    ("topic", "payload", "readings"),
    [
        ("a/b", "21.5", {"a/b": "21.5"}),
        ("a/b", "-3", {"a/b": "-3"}),
        ("a/b", " 21.5 °C\n", {"a/b": "21.5"}),
        ("a/b", "21.5°C", {"a/b": "21.5"}),
        ("a/b", "47%", {"a/b": "47"}),
        ("a/b", ".5", {"a/b": "0.5"}),
        ("greenhouse/weather", '{"air": {"temperature": 18.20, "humidity": 61}}', {
            "greenhouse/weather/temperature": "18.20", "greenhouse/weather/humidity": "61"}),
        ("greenhouse/weather", '{"air": {"temperature": "18.2", "humidity": null}}', {
            "greenhouse/weather/temperature": "18.2"}),
        ("fields/moisture", '{"node": "A3", "moisture": 0.31}', {"fields/moisture/A3": "0.31"}),
        ("fields/moisture", '{"node": 7, "moisture": 0.31}', {"fields/moisture/7": "0.31"}),
        ("servers/cpu", "web-1=54.0 db-1=61.5", {"servers/web-1/cpu": "54.0", "servers/db-1/cpu": "61.5"}),
        ("servers/disk", "web-1=31", {"servers/web-1/disk": "31"}),
    ],
)  # fmt: skip
def test_the_shipped_formats_read_what_sensors_send(topic, payload, readings):
    """Plain numbers, numbers with units, members of JSON; identifiers in the topic or in the payload."""
    found = SHIPPED.readings(topic, payload.encode())
    assert found == [Reading(name, decimal(value)) for name, value in readings.items()]


@pytest.mark.parametrize(
    ("topic", "payload"),
    [
        ("a/b", b""),
        ("a/b", b"on"),
        ("a/b", b"1.2.3"),
        ("a/b", b"21,5"),
        ("a/b", b"2030-01-01"),
        ("a/b", b"12:30"),
        ("a/b", b"21.5 degrees Celsius"),
        ("a/b", b"\xff\xfe21"),
        ("a/b", b"NaN"),
        ("a/b", b"1" * 70_000),
        ("greenhouse/weather", b'{"air": {"temperature": true}}'),
        ("greenhouse/weather", b'{"air": [1, 2]}'),
        ("greenhouse/weather", b'{"air": '),
        ("greenhouse/weather", b"[" * 60_000),
        ("fields/moisture", b'{"moisture": 0.31}'),
        ("fields/moisture", b'{"node": "A3", "moisture": NaN}'),
        ("servers/cpu", b"web-1"),
    ],
)
def test_what_is_no_number_is_no_reading(topic, payload):
    """And no error either."""
    assert SHIPPED.readings(topic, payload) == []


@given(topic=st.text(), payload=st.binary())
def test_any_message_is_readings_or_nothing(topic, payload):
    """Whatever anybody publishes."""
    for reading in SHIPPED.readings(topic, payload):
        float(reading.value.value)


@given(
    st.floats(allow_nan=False, allow_infinity=False)
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False)
)
def test_a_number_stays_the_number_that_it_is(value):
    """As a decimal exactly, as a double to a double's precision."""
    literal = number(str(value))
    if literal is not None:
        assert float(literal.value) == float(value)


@pytest.mark.parametrize(
    ("written", "literal"),
    [
        ("21.50", decimal("21.50")),
        ("+7", decimal("7")),
        ("0.000000000000000001", decimal("0.000000000000000001")),
        ("0.0000000000000000001", double("1e-19")),
        ("1234567890123456789", double("1.2345678901234568e+18")),
        ("1e3", double("1000.0")),
        ("-2.5E-3", double("-0.0025")),
        ("0e-99999", double("0.0")),
        ("1e309", None),
        ("1e999999999", None),
        ("1_000", None),
        ("inf", None),
        ("١٢", None),
        ("", None),
    ],
)
def test_numbers_are_typed(written, literal):
    """A decimal where every store holds it exactly, otherwise a double; what is too large for both is none."""
    assert number(written) == literal


def test_the_first_format_that_finds_a_number_is_used():
    """So a general one may follow a special one."""
    special = {"topic": "a/.*", "value": "^temperature=(?<value>\\d+)$", "name": "{topic}/special"}
    found = formats(special, {"value": "(?<value>\\d+)"})
    assert found.readings("a/b", b"temperature=5") == [Reading("a/b/special", decimal("5"))]
    assert found.readings("a/b", b"humidity=6") == [Reading("a/b", decimal("6"))]
    assert found.readings("b/a", b"temperature=5") == [Reading("b/a", decimal("5"))]


def test_groups_of_the_topic_are_for_names_too():
    """In the spelling of Python or of everybody else; a lookbehind is no group."""
    item = {
        "topic": "(?P<site>\\w+)/(?<kind>\\w+)",
        "value": "(?<=:)(?<value>\\d+)",
        "name": "{kind} at {site}",
    }
    assert formats(item).readings("home/heat", b"x:5") == [Reading("heat at home", decimal("5"))]


def test_a_member_may_be_in_an_array():
    """By its number."""
    item = {"json": {"{topic}": "sensors.1.t"}}
    assert formats(item).readings("x", json.dumps({"sensors": [{"t": 1}, {"t": 2}]}).encode()) == [
        Reading("x", decimal("2"))
    ]


@pytest.mark.parametrize(
    ("item", "path"),
    [
        ({}, "extended.formats[0]"),
        ({"value": "(?<value>.)", "json": {"{topic}": "x"}}, "extended.formats[0]"),
        ({"topic": "(", "value": "(?<value>.)"}, "extended.formats[0].topic"),
        ({"value": "("}, "extended.formats[0].value"),
        ({"value": "\\d+"}, "extended.formats[0].value"),
        ({"value": "(?<value>.)", "name": "{id}"}, "extended.formats[0].name"),
        ({"json": {"{id}": "x"}}, "extended.formats[0].json"),
        ({"json": {"{topic}": 5}}, "extended.formats[0].json.{topic}"),
        ({"json": 5}, "extended.formats[0].json"),
    ],
)
def test_a_wrong_format_is_told_by_its_path(item, path):
    """When the adapter starts, not when the first message comes."""
    with pytest.raises(ProfileError) as caught:
        formats(item)
    assert caught.value.path == path


@pytest.mark.parametrize("extended", [{}, {"formats": {}}, {"formats": ["x"]}])
def test_formats_are_an_array_of_objects(extended):
    """Anything else is told too."""
    with pytest.raises(ProfileError, match="expected an array of objects"):
        Formats.of(extended)
