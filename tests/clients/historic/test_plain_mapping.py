"""The reference itself: what it says is compared with the standards' examples, and read back by Oxigraph."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, parse
from support.plain_mapping import plain_mapping
from support.plain_moments import moment
from support.plain_terms import XSD, Broken, double, encoded, number

from triplewire.clients.historic.errors import SourceError
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
from triplewire.clients.historic.reasons import Reason

SOURCE = Source("a.csv", "a.csv", "csv")
SUBJECT = TermMap(Constant("urn:s"), TermType.IRI)
PREDICATE = TermMap(Constant("urn:p"), TermType.IRI)


def objects(row, term: TermMap, **more):
    """The objects that a term map makes of a row, and the reasons why it makes none."""
    rule = Rule("a.csv", SUBJECT, PREDICATE, term, **more)
    lines, broken = plain_mapping([row], Mapping((SOURCE,), (rule,), "http://example.com/base/"))
    return {line.removeprefix("<urn:s> <urn:p> ").removesuffix(" .") for line in lines}, [
        why for _, why in broken
    ]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("-007.0", "integer", "-7"),
        ("-0", "integer", "0"),
        ("9" * 40, "integer", "9" * 40),
        ("020.50", "decimal", "20.5"),
        (".5", "decimal", "0.5"),
        ("-0.0", "decimal", "0"),
        ("5.", "decimal", "5"),
        (" 1\t", "decimal", "1"),
        ("20.50", "double", "2.05E1"),
        ("0", "double", "0.0E0"),
        ("-0", "double", "-0.0E0"),
        ("1e-7", "double", "1.0E-7"),
        ("INF", "double", "INF"),
        ("NaN", "double", "NaN"),
        ("123456789", "double", "1.23456789E8"),
        ("4.9E-324", "double", "5.0E-324"),
    ],
)
def test_numbers_in_their_canonical_form(text, kind, expected):
    """XSD 1.1 part 2, E.1."""
    assert number(text, Number(), XSD + kind) == (expected, XSD + kind)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *(
            (text, "double")
            for text in ("", "1e400", "inf", "nan", "Infinity", "1 2", "0x10", "1_000", "½", "\u0661")
        ),
        *((text, "decimal") for text in ("1e5", "NaN", "--1", ".", "1,5")),
        *((text, "integer") for text in ("1.5", "1e3", "")),
    ],
)
def test_what_is_no_number(text, kind):
    """XSD's spelling only, and nothing that a float can't hold."""
    with pytest.raises(Broken, match=Reason.BAD_NUMBER):
        number(text, Number(), XSD + kind)


@pytest.mark.parametrize(
    ("text", "reading", "expected"),
    [
        ("1.234,50", Number(",", "."), "1234.5"),
        ("-1 234 567", Number(".", " "), "-1234567"),
        ("1234,5", Number(",", "."), "1234.5"),
        ("1.2345,0", Number(",", "."), None),
        ("1.5", Number(",", "."), None),
        ("1.5", Number(",", ""), None),
        ("1,5", Number(".", ","), None),
        ("1,234.5", Number(".", ","), "1234.5"),
        (",234", Number(".", ","), None),
    ],
)
def test_marks_of_other_countries(text, reading, expected):
    """Groups are of three digits: 1,5 is not fifteen."""
    if expected is None:
        with pytest.raises(Broken):
            number(text, reading, XSD + "decimal")
    else:
        assert number(text, reading, XSD + "decimal")[0] == expected


@given(st.floats())
def test_a_double_is_read_back(value):
    """Its canonical form is the same double, and what Oxigraph takes for one."""
    text = double(value)
    again = float(text.replace("INF", "inf"))
    assert again == value or (math.isnan(again) and math.isnan(value))


@pytest.mark.parametrize(
    ("text", "reading", "expected"),
    [
        ("2026-11-28", Moment(), "2026-11-28T00:00:00Z"),
        ("2026-11-28 09:30", Moment(), "2026-11-28T09:30:00Z"),
        ("2026-11-28T09:30:00.1230000009", Moment(), None),
        ("2026-11-28T09:30:00.123000000", Moment(), "2026-11-28T09:30:00.123Z"),
        ("2026-11-28T09:30:00.123456789", Moment(), "2026-11-28T09:30:00.123456Z"),
        ("2026-11-28T09:30:00+0530", Moment(), "2026-11-28T04:00:00Z"),
        ("2026-11-28T09:30:00-08", Moment(zone="Europe/Berlin"), "2026-11-28T17:30:00Z"),
        ("2026-11-28T09:30", Moment(zone=""), "2026-11-28T09:30:00"),
        ("2026-11-28T09:30+01:00", Moment(zone=""), "2026-11-28T08:30:00Z"),
        ("2026-10-25 02:30", Moment(zone="Europe/Berlin"), "2026-10-25T00:30:00Z"),
        ("2026-03-29 02:30", Moment(zone="Europe/Berlin"), None),
        ("2026-03-29 03:00", Moment(zone="Europe/Berlin"), "2026-03-29T01:00:00Z"),
        ("0001-01-01 00:00+01:00", Moment(), None),
        ("2026-02-30", Moment(), None),
        ("2026-11-28T24:00:00", Moment(), None),
        ("2026-11-28T23:59:60", Moment(), None),
        ("2026-11-28T09:30:00+15:00", Moment(), None),
        ("28.11.2026 9:30", Moment(("d.M.yyyy H:mm",)), "2026-11-28T09:30:00Z"),
        ("28.11.2026", Moment(("yyyy-MM-dd", "dd.MM.yyyy")), "2026-11-28T00:00:00Z"),
        ("Nov 28, 2026 12:05 AM", Moment(("MMM d, yyyy hh:mm a",)), "2026-11-28T00:05:00Z"),
        ("2026-11-28T09", Moment(("yyyy-MM-dd'T'HH",)), "2026-11-28T09:00:00Z"),
        ("1700000000.5", Moment(("epoch_s",)), "2023-11-14T22:13:20.5Z"),
        (1700000000.5, Moment(("epoch_s",)), "2023-11-14T22:13:20.5Z"),
        (1700000000123, Moment(("epoch_ms",)), "2023-11-14T22:13:20.123Z"),
        ("-0.5", Moment(("epoch_s",)), "1969-12-31T23:59:59.5Z"),
        ("1e9", Moment(("epoch_s",)), None),
        ("9" * 30, Moment(("epoch_s",)), None),
        ("", Moment(), None),
    ],
)
def test_moments(text, reading, expected):
    """In UTC; None is a moment that never was."""
    if expected is None:
        with pytest.raises(Broken, match=Reason.IMPOSSIBLE_TIME):
            moment(text, reading)
    else:
        assert moment(text, reading) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("42", "42"),
        ("Hello World!", "Hello%20World%21"),
        ("2011-08-23T22:17:00Z", "2011-08-23T22%3A17%3A00Z"),
        ("~A_17.1-2", "~A_17.1-2"),
        ("葉篤正", "葉篤正"),
        ("a/b%c", "a%2Fb%25c"),
        ("\ufdd0\ue000", "%EF%B7%90%EE%80%80"),
    ],
)
def test_percent_encoding(text, expected):
    """The examples of R2RML 7.3, and characters that are none of its."""
    assert encoded(text, Encoding.IRI) == expected


def test_a_relative_iri_is_put_behind_the_base():
    """R2RML 7.3: as it is, dots included; what is then no IRI breaks the row."""
    term = TermMap(Reference("v"), TermType.IRI)
    assert objects({"v": "path/../Danny"}, term) == ({"<http://example.com/base/path/../Danny>"}, [])
    assert objects({"v": "http://example.com/company/Alice"}, term)[0] == {
        "<http://example.com/company/Alice>"
    }
    assert objects({"v": "Bob Charles"}, term) == (set(), [Reason.BAD_IRI])


@given(st.text())
def test_any_text_is_a_literal_that_is_read_back(text):
    """Canonical N-Quads: one line, whatever is in it."""
    (found,), broken = objects({"v": text}, TermMap(Reference("v"), TermType.LITERAL))
    assert not broken
    assert not set(found) & set("\n\r\t\b\f\x7f\x00")
    (quad,) = parse(f"<urn:s> <urn:p> {found} .\n".encode(), format=RdfFormat.N_QUADS)
    assert quad == Quad(NamedNode("urn:s"), NamedNode("urn:p"), Literal(text))


@given(st.text(min_size=1))
def test_any_text_in_a_template_is_an_iri_that_is_read_back(text):
    """And another one for another text."""
    (found,), broken = objects({"v": text}, TermMap(Template(("urn:x:", Reference("v"))), TermType.IRI))
    assert not broken
    (quad,) = parse(f"<urn:s> <urn:p> {found} .\n".encode(), format=RdfFormat.N_QUADS)
    assert quad.object == NamedNode(found[1:-1])


def test_a_broken_row_makes_nothing_and_has_all_its_reasons():
    """Each once, also where another part is null."""
    number_ = Rule(
        "a.csv",
        SUBJECT,
        PREDICATE,
        TermMap(Reference("n"), TermType.LITERAL, XSD + "double", reading=Number()),
    )
    iri = Rule(
        "a.csv", TermMap(Reference("i"), TermType.IRI), PREDICATE, TermMap(Reference("z"), TermType.LITERAL)
    )
    good = Rule("a.csv", SUBJECT, PREDICATE, TermMap(Constant("x"), TermType.LITERAL))
    rows = [{"n": "x", "i": "<>", "z": None}, {"n": "1", "i": "y", "z": None}]
    lines, broken = plain_mapping(rows, Mapping((SOURCE,), (number_, iri, good)))
    assert broken == [(0, Reason.BAD_IRI), (0, Reason.BAD_NUMBER)]
    assert len(lines) == 2


def test_given_passes_a_rule_over():
    """Nothing of it is looked at where what must be given is null."""
    bad = TermMap(Constant("no IRI"), TermType.IRI)
    assert objects({"v": None}, bad, given=(Reference("v"),)) == (set(), [])
    assert objects({"v": "1"}, bad, given=(Reference("v"),)) == (set(), [Reason.BAD_IRI])


def test_tables_languages_and_datatypes_of_the_row():
    """What a table does not have, and a tag that is none, break the row; null makes none."""
    table = TermMap(Lookup(Reference("v"), (("a", "urn:a"),)), TermType.IRI)
    assert objects({"v": "a"}, table) == ({"<urn:a>"}, [])
    assert objects({"v": None}, table) == (set(), [])
    assert objects({"v": "A"}, table) == (set(), [Reason.UNKNOWN_NAME])
    tagged = TermMap(Reference("v"), TermType.LITERAL, language=Reference("l"))
    assert objects({"v": "a", "l": "en-GB"}, tagged) == ({'"a"@en-GB'}, [])
    assert objects({"v": "a", "l": "english"}, tagged) == (set(), [Reason.BAD_LANGUAGE_TAG])
    assert objects({"v": None, "l": "english"}, tagged) == (set(), [])
    typed = TermMap(Reference("v"), TermType.LITERAL, datatype=Reference("d"))
    assert objects({"v": "a", "d": "x"}, typed) == ({'"a"^^<http://example.com/base/x>'}, [])
    assert objects({"v": "a", "d": XSD + "string"}, typed) == ({'"a"'}, [])


def test_what_is_no_value_and_what_is_no_column():
    """An object of JSON breaks the row; a column that no file has is the mapping's mistake."""
    path = TermMap(Reference("$.v", ("v",)), TermType.LITERAL)
    assert objects({"v": {"w": 1}}, path) == (set(), [Reason.NOT_A_VALUE])
    assert objects({}, path) == (set(), [])
    with pytest.raises(SourceError, match="there is no column 'v'"):
        objects({}, TermMap(Reference("v"), TermType.LITERAL))


def test_blank_nodes_are_iris_of_their_labels():
    """So that the same row gives the same node again."""
    term = TermMap(Template((Reference("a"), " ", Reference("b"))), TermType.BLANK)
    assert objects({"a": "x", "b": "y"}, term)[0] == {"<http://example.com/.well-known/genid/x%20y>"}
