"""Spark's expressions make what plain Python makes of the same rows: odd characters, nulls, zones, DST, huge numbers."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.plain_mapping import plain_mapping
from support.record_lines import lines_in

from triplewire.clients.historic.execution import carried_out, records
from triplewire.clients.historic.plan import (
    Constant,
    Encoding,
    Lookup,
    Mapping,
    Moment,
    Number,
    Reference,
    Rule,
    Source,
    Template,
    TermMap,
    TermType,
)
from triplewire.clients.historic.sources import table_of
from triplewire.clients.historic.table import Table

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
XSD = "http://www.w3.org/2001/XMLSchema#"
# Many rows in few examples, as each is a job of Spark's; a failure names its rows, so none is looked for that is smaller.
FEW = settings(
    max_examples=2,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    database=None,
    phases=(Phase.generate,),
)
ODD = st.characters(exclude_categories=["Cs"])
TEXTS = st.one_of(
    st.text(ODD, max_size=12),
    st.text(string.printable, max_size=12),
    st.text(
        "abc -_.~/:%?#[]@!$&'()*+,;=\"<>\\^`{|}\t\n\r\x00\x7f\u00e4\u65e5\U0001f600\ue000\ufffe", max_size=8
    ),
)
IRIS = st.one_of(
    st.builds(
        "{}:{}".format,
        st.sampled_from(["http", "urn", "a+b", "1x"]),
        st.text("ab/:?#[]%@2F\u00e4 <", max_size=10),
    ),
    st.builds("http://{}/{}".format, st.text("a.:@1[]%", max_size=6), st.text("a%2f?#", max_size=5)),
    st.sampled_from(
        ["http://[::1]/", "http://[1:2:3:4:5:6:7:8]/x", "http://[1]/", "a", "", "//a", "x:y#z", "x:y#z#"]
    ),
)
DIGITS = st.text("0123456789", min_size=1, max_size=40)
NUMBERS = st.one_of(
    st.builds("{}{}".format, st.sampled_from(["", "+", "-"]), DIGITS),
    st.builds(
        "{}{}.{}".format,
        st.sampled_from(["", "+", "-"]),
        st.text("0123456789", max_size=22),
        st.text("0123456789", max_size=22),
    ),
    st.floats().map(repr),
    st.floats(-1e6, 1e6).map(lambda number: f"{number:.3f}"),
    st.builds(
        "{}e{}".format,
        st.sampled_from(["1", "-2.50", "0.000", "9.999999999999999999", "8.41"]),
        st.integers(-400, 400),
    ),
    st.sampled_from(
        [
            "INF",
            "-INF",
            "+INF",
            "NaN",
            "inf",
            "1e400",
            "",
            " 7 ",
            "\t-0",
            ".",
            "1.",
            ".5",
            "1,5",
            "0x1F",
            "1_0",
            "4.9e-324",
            "2.2250738585072011e-308",
            "\u0661",
        ]
    ),
    st.text(max_size=4),
)
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC", "")
MOMENTS = st.one_of(
    st.datetimes().map(lambda moment: moment.isoformat()),
    st.datetimes().map(lambda moment: moment.isoformat(" ", "seconds") + "+05:45"),
    # Around the nights in which clocks are set.
    st.builds(
        "{}T{:02}:{:02}:00".format,
        st.sampled_from(["2020-03-29", "2020-10-25", "2021-03-14", "2021-11-07", "2020-10-04", "2021-04-04"]),
        st.integers(0, 4),
        st.sampled_from([0, 15, 29, 30, 59]),
    ),
    st.sampled_from(
        [
            "2020-02-30",
            "2019-02-29T00:00:00Z",
            "2020-12-31T24:00:00Z",
            "2016-12-31T23:59:60Z",
            "2020-01-01T00:00Z",
            "2020-01-01",
            "2020-1-1",
            "2020",
            "0000-01-01",
            "0001-01-01T00:00:00+01:00",
            "9999-12-31T23:59:59-01:00",
            "2020-01-01T10:00+14:00",
            "2020-01-01T10:00+14:30",
            "2020-01-01T10:00:00.123456789Z",
            "2020-01-01T10:00:00.100",
            "+2020-01-01",
            "today",
            "epoch",
            "",
            " 2020-01-01 ",
            "2020-01-01T10:00:00+0130",
            "2020-01-01T10:00:00 Europe/Paris",
            "T10:00",
        ]
    ),
)


def constant(value):
    return TermMap(Constant(value), TermType.IRI)


def rules(*objects, subject):
    return tuple(
        Rule("s", subject, constant(f"http://p/{number}"), found) for number, found in enumerate(objects)
    )


def of_column(name="x", **more):
    return TermMap(Reference(name), TermType.LITERAL, **more)


def agree(table, mapping, rows):
    """The same quads and the same rows broken for the same reasons."""
    found = lines_in(records(carried_out(table, mapping)))
    lines = {line for line in found if line.startswith("<")}
    expected, told = plain_mapping(rows, mapping)
    broken: dict[int, set[str]] = {}
    for row, reason in told:
        broken.setdefault(row, set()).add(str(reason))
    rejected = [json.loads(line) for line in found if not line.startswith("<")]
    assert {row["place"]: set(row["reasons"]) for row in rejected} == broken
    assert lines == expected


def texts_table(spark, mapping, rows):
    names = list(rows[0])
    fields = ", ".join(f"{name} string" for name in names)
    data = [(number, tuple(row[name] for name in names)) for number, row in enumerate(rows)]
    frame = spark.createDataFrame(data, f"place bigint, row struct<{fields}>").selectExpr(
        "row", "'f' AS file", "0L AS block", "place", "'' AS raw", "CAST(NULL AS string) AS fault"
    )
    return Table(mapping.sources[0], frame, frame)


def texts_mapping(found):
    return Mapping((Source("s", "", "csv", nulls=()),), found, "http://base/x/")


SUBJECT = TermMap(Template(("http://s/", Reference("n"))), TermType.IRI)


def with_numbers(values):
    return [{"n": str(number), "x": value} for number, value in enumerate(values)]


@given(st.lists(st.one_of(st.none(), TEXTS), min_size=200, max_size=200))
@FEW
def test_texts_in_literals_and_templates(spark, values):
    """Escapes and percent-encoding, whatever the characters."""
    rows = with_numbers(values)
    mapping = texts_mapping(
        rules(
            of_column(),
            of_column(datatype="http://d/t"),
            TermMap(Template(("http://t/", Reference("x"), "/e")), TermType.IRI),
            TermMap(Template(("http://t/", Reference("x"))), TermType.IRI, encoding=Encoding.URI),
            TermMap(Template((Reference("x"), "-", Reference("n"))), TermType.IRI),
            TermMap(Template(("a", Reference("x"))), TermType.LITERAL),
            TermMap(Reference("x"), TermType.BLANK),
            subject=SUBJECT,
        )
    )
    agree(texts_table(spark, mapping, rows), mapping, rows)


@given(st.lists(st.one_of(IRIS, TEXTS), min_size=200, max_size=200))
@FEW
def test_iris_of_columns(spark, values):
    """Absolute and relative, and those that are none."""
    rows = with_numbers(values)
    found = rules(TermMap(Reference("x"), TermType.IRI), subject=SUBJECT)
    mapping = texts_mapping(found)
    agree(texts_table(spark, mapping, rows), mapping, rows)


@given(st.lists(st.one_of(st.none(), NUMBERS), min_size=300, max_size=300))
@FEW
def test_numbers(spark, values):
    """Each datatype by itself, as what is none for one may be one for another."""
    rows = with_numbers(values)
    for datatype in ("integer", "decimal", "double", None):
        told = f"{XSD}{datatype}" if datatype else None
        mapping = texts_mapping(rules(of_column(datatype=told, reading=Number()), subject=SUBJECT))
        agree(texts_table(spark, mapping, rows), mapping, rows)


@given(st.lists(st.text("0123456789.,-+e", max_size=9), min_size=200, max_size=200))
@FEW
def test_numbers_of_other_countries(spark, values):
    """Points and commas change places; a group of another size is a slip."""
    rows = with_numbers([*values, "1.234,5", "1,5", "12.34", "-1.234.567,89", "1.234e3"])
    for reading in (Number(",", "."), Number(".", ","), Number(",")):
        mapping = texts_mapping(rules(of_column(datatype=f"{XSD}decimal", reading=reading), subject=SUBJECT))
        agree(texts_table(spark, mapping, rows), mapping, rows)


@given(st.lists(st.one_of(st.none(), MOMENTS), min_size=200, max_size=200))
@FEW
def test_moments(spark, values):
    """ISO 8601 in zones with and without summer time; in templates, too."""
    rows = with_numbers(values)
    for zone in ZONES:
        reading = Moment(zone=zone)
        subject = TermMap(
            Template(("http://s/", Reference("n"), "/", Reference("x", reading=reading))), TermType.IRI
        )
        mapping = texts_mapping(rules(of_column(reading=reading), subject=subject))
        agree(texts_table(spark, mapping, rows), mapping, rows)


EPOCHS = st.one_of(
    st.integers(-(10**12), 10**12).map(str),
    st.floats(-1e11, 1e11).map(lambda number: f"{number:.7f}"),
    st.text("0123456789.-", max_size=6),
)


@given(st.lists(EPOCHS, min_size=200, max_size=200))
@FEW
def test_moments_as_numbers(spark, values):
    """Seconds and milliseconds since 1970."""
    rows = with_numbers(values)
    for format_ in ("epoch_s", "epoch_ms"):
        mapping = texts_mapping(rules(of_column(reading=Moment((format_,))), subject=SUBJECT))
        agree(texts_table(spark, mapping, rows), mapping, rows)


def test_moments_by_patterns_tried_in_turn(spark):
    """The first pattern that fits; a day and an hour from two columns."""
    values = [
        "29.03.2020 02:30",
        "28.03.2020 14:05",
        "2020/03/01 1:02 PM",
        "2020/03/01",
        "03.2020",
        "01.03.2020 02:03+02:00",
        "x",
    ]
    rows = [
        {"n": str(number), "x": value, "y": value[:10], "z": value[11:]}
        for number, value in enumerate(values)
    ]
    reading = Moment(
        ("dd.MM.yyyy HH:mm", "yyyy/MM/dd h:mm a", "yyyy/MM/dd", "dd.MM.yyyy HH:mmXXX"), "Europe/Berlin"
    )
    joined = Reference("{y} {z}", joined=(Reference("y"), " ", Reference("z")))
    other = TermMap(joined, TermType.LITERAL, reading=reading)
    mapping = texts_mapping(rules(of_column(reading=reading), other, subject=SUBJECT))
    agree(texts_table(spark, mapping, rows), mapping, rows)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**37), 10**37),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
    st.sampled_from(["en", "de-AT", "x-y", "english", "1"]),
)
VALUES = st.one_of(
    SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(st.sampled_from("ab"), SCALARS, max_size=2)
)
JSON_ROWS = st.lists(
    st.fixed_dictionaries(
        {"x": VALUES},
        optional={"y": SCALARS, "tag": SCALARS, "deep": st.fixed_dictionaries({"x y": SCALARS})},
    ),
    min_size=100,
    max_size=100,
)


def json_mapping(path):
    subject = TermMap(Template(("http://s/", Reference("n", ("n",)))), TermType.IRI)
    x, y, tag = (Reference(name, (name,)) for name in ("x", "y", "tag"))
    made = rules(
        TermMap(y, TermType.LITERAL),
        TermMap(Reference("deep", ("deep", "x y")), TermType.LITERAL, language=tag),
        TermMap(Reference("all", ("x", None)), TermType.LITERAL),
        TermMap(Template(("http://o/", Reference("all", ("x", None)), "/", y)), TermType.IRI),
        TermMap(Reference("first", ("x", 0)), TermType.LITERAL, datatype=f"{XSD}string"),
        TermMap(Lookup(tag, (("en", "English"), ("1", "one"))), TermType.LITERAL),
        subject=subject,
    )
    needed = Rule(
        "s", subject, constant("http://p/x"), TermMap(x, TermType.LITERAL), required=True, given=(y,)
    )
    return Mapping((Source("s", str(path), "jsonl"),), (*made, needed), "http://base/")


@given(JSON_ROWS)
@FEW
def test_json_values_keep_their_types(spark, tmp_path_factory, values):
    """Numbers, truth values, members, elements, and what is none of them."""
    rows = [{"n": number, **row} for number, row in enumerate(values)]
    path = tmp_path_factory.mktemp("json") / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    mapping = json_mapping(path)
    agree(table_of(spark, mapping.sources[0]), mapping, rows)
