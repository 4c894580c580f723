"""Documents that would end or hang the process never reach Oxigraph's readers."""

from __future__ import annotations

import json
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import RdfFormat

from triplewire.broker.errors import QueryTooComplex, RequestError
from triplewire.broker.wire.depth import MOST_MARKS, MOST_NESTED, check_depth, json_of

LIMIT = 200
IRI = "<http://x/>"


def json_ld(depth):
    """Objects in objects."""
    return '{"http://x/p":' * (depth - 1) + "{}" + "}" * (depth - 1)


def json_lists(depth):
    """Arrays in an array."""
    return "[" * depth + "]" * depth


def xml(depth):
    """Elements in elements."""
    return "<a>" * depth + "</a>" * depth


def triple_terms(depth):
    """A triple term as another's object."""
    return f"{IRI} {IRI} " + f"<<( {IRI} {IRI} " * depth + IRI + " )>>" * depth + " ."


def reified(depth):
    """A reified triple as another's subject."""
    return "<< " * depth + IRI + f" {IRI} {IRI} >>" * depth + f" {IRI} {IRI} ."


KINDS = [
    (RdfFormat.JSON_LD, json_ld),
    (RdfFormat.JSON_LD, json_lists),
    (RdfFormat.STREAMING_JSON_LD, json_ld),
    (RdfFormat.RDF_XML, xml),
    *((format_, triple_terms) for format_ in (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS, RdfFormat.N3)),
    *(
        (format_, build)
        for format_ in (RdfFormat.TURTLE, RdfFormat.TRIG)
        for build in (triple_terms, reified)
    ),
]


@pytest.mark.parametrize(("format_", "build"), KINDS)
def test_the_limit_is_the_limit(format_, build):
    """What is as deep as the limit passes, one deeper is refused."""
    check_depth(build(LIMIT).encode(), format_, LIMIT)
    with pytest.raises(QueryTooComplex, match=r"more than 200 deep \(limits.nesting\)"):
        check_depth(build(LIMIT + 1).encode(), format_, LIMIT)


@pytest.mark.parametrize(("format_", "build"), KINDS)
def test_nesting_without_end_is_refused_at_once(format_, build):
    """100,000 deep, closed or cut off."""
    document = build(100_000).encode()
    started = time.monotonic()
    for data in (document, document[: len(document) // 2]):
        with pytest.raises(QueryTooComplex):
            check_depth(data, format_, LIMIT)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("format_", "text"),
    [
        (RdfFormat.JSON_LD, '{"http://x/p":"' + "{[" * 5000 + '"}'),
        (RdfFormat.JSON_LD, '{"http://x/p":"\\"' + "{" * 5000 + '\\\\"}'),
        (RdfFormat.JSON_LD, "[" + ",".join(["{}"] * 5000) + "]"),
        (RdfFormat.TURTLE, f'{IRI} {IRI} "' + "<<( " * 5000 + '" .'),
        (RdfFormat.TURTLE, f'{IRI} {IRI} """' + '"<<( \n' * 5000 + '""" .'),
        (RdfFormat.TURTLE, f"# {'<<( ' * 5000}\n{IRI} {IRI} 1 ."),
        (RdfFormat.N_TRIPLES, f"{IRI} {IRI} <<( {IRI} {IRI} {IRI} )>> .\n" * 5000),
        (RdfFormat.RDF_XML, "<a>" + "<b/>" * 5000 + "<!-- " + "<c>" * 5000 + " --></a>"),
        (RdfFormat.RDF_XML, "<a><![CDATA[" + "<c>" * 5000 + "]]></a>"),
    ],
)
def test_brackets_that_nest_nothing_do_not_count(format_, text):
    """In texts and comments, or one beside the other."""
    check_depth(text.encode(), format_, LIMIT)


def laughs(lines=10):
    """Entities that multiply each other: billion laughs."""
    declared = ['<!ENTITY l0 "ha">']
    declared += [f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, lines)]
    return f"<!DOCTYPE a [{''.join(declared)}]><a>&l{lines - 1};</a>"


@pytest.mark.parametrize(
    "text",
    [
        laughs(),
        laughs(30),
        laughs().replace(f"<a>&l{9};</a>", "<a/>"),
        f'<!DOCTYPE a [<!ENTITY b "{"x" * 100_000}">]><a>{"&b;" * 100_000}</a>',
    ],
)
def test_entities_that_multiply_are_refused_at_once(text):
    """Billion laughs, used or only declared, and one long entity many times."""
    started = time.monotonic()
    with pytest.raises(QueryTooComplex, match="entit"):
        check_depth(text.encode(), RdfFormat.RDF_XML, LIMIT)
    assert time.monotonic() - started < 2


def test_plain_entities_are_read():
    """RDF/XML in the wild declares its namespaces so."""
    check_depth(b'<!DOCTYPE a [<!ENTITY x "http://x/">]><a b="&x;c">&x;&amp;</a>', RdfFormat.RDF_XML, LIMIT)


def test_external_entities_are_not_fetched():
    """Nothing is read from the disk or the network."""
    with suppress(RequestError):
        check_depth(
            b'<!DOCTYPE a SYSTEM "http://127.0.0.1:9/x.dtd" [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
            RdfFormat.RDF_XML,
            LIMIT,
        )


@pytest.mark.parametrize("text", ["", "<a>", "<a></b>", "<a", "hello", "<a>&x;</a>"])
def test_xml_that_is_not_well_formed_is_a_request_error(text):
    """Told as the reader of RDF/XML would."""
    with pytest.raises(RequestError, match="not RDF/XML") as caught:
        check_depth(text.encode(), RdfFormat.RDF_XML, LIMIT)
    assert caught.value.code == "parsing failed"


@given(
    st.binary() | st.text('<>(){}[]"\\&;a! ').map(str.encode),
    st.sampled_from([format_ for format_, _ in KINDS]),
)
def test_any_bytes_pass_or_are_a_request_error(data, format_):
    """Nothing else comes of it."""
    with suppress(RequestError):
        check_depth(data, format_, 2)


def test_an_encoding_that_nobody_knows_is_a_request_error():
    """The document's own doing."""
    with pytest.raises(RequestError, match="not RDF/XML"):
        check_depth(b'<?xml version="1.0" encoding="x"?><a/>', RdfFormat.RDF_XML, LIMIT)


@pytest.mark.parametrize(
    ("format_", "text"),
    [
        (RdfFormat.JSON_LD, "[]" * (LIMIT + 1) + '"' + '\\"' * 10_000),
        (RdfFormat.JSON_LD, "[]" * (LIMIT + 1) + '"' + '\\"' * 10_000 + "\\"),
        (RdfFormat.TURTLE, "<< >>" * (LIMIT + 1) + ' "' + '\\"' * 10_000),
    ],
)
def test_a_text_that_never_ends_costs_no_more_than_its_length(format_, text):
    """20 kilobytes take milliseconds."""
    started = time.process_time()
    with suppress(RequestError):
        check_depth(text.encode(), format_, LIMIT)
    assert time.process_time() - started < 0.5


DOCUMENTS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=20,
)


@given(DOCUMENTS, st.booleans())
def test_a_json_text_is_read_as_ever(document, ascii_only):
    """What stands in front of the reader changes nothing."""
    assert json_of(json.dumps(document, ensure_ascii=ascii_only)) == document


@given(st.text(alphabet='[]{},:"\\ 1ae\n'))
def test_a_text_is_json_or_not(text):
    """As Python's own reader has it."""
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            json_of(text)
    else:
        assert json_of(text) == expected


@pytest.mark.parametrize("build", [json_lists, json_ld])
def test_a_json_text_nests_so_deep(build):
    """And brackets in strings do not count."""
    assert json_of(build(MOST_NESTED)) is not None
    assert json_of(json.dumps("[{" * 1000 + '"' + "[{" * 1000))
    with pytest.raises(QueryTooComplex, match="nested too deeply: 100 levels"):
        json_of(build(MOST_NESTED + 1))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 1_000_000,
        '{"a":' * 1_000_000,
        "[" + "[]," * 5_000_000 + "[]]",
        "[" + "1," * 8_000_000 + "1]",
        '["",' * 5_000_000,
        '""' * 8_000_000,
        '"' + r"\u0041" * 2_500_000,
        '{"a":"' + r"\"" * 2_000_000 + "\\",  # it ends in the middle of an escape
        "]" * 16_000_000,
    ],
    ids=lambda text: text[:6],
)
def test_a_text_that_would_be_much_work_is_none(text):
    """Refused at once, before there are lists and strings of it."""
    started = time.process_time()
    with pytest.raises((QueryTooComplex, ValueError)):
        json_of(text)

    assert time.process_time() - started < 0.5


def test_a_long_string_is_no_work():
    """A query has a megabyte."""
    assert json_of(json.dumps({"sparql": "ASK { ?s ?p 'x' }, " * 100_000}))["sparql"].startswith("ASK")
    assert json_of(json.dumps([""] * (MOST_MARKS // 2 - 2))) is not None
