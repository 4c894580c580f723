"""Terminals: where strings, comments, IRIs and names begin and end, as Oxigraph has it."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sparql_strategies import PROLOGUE, data_blocks, queries, updates

from triplewire.broker.tokens import is_variable_name, shape, splice, tokens

SKIPPED = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*)*")
PIECES = st.sampled_from(
    ["'", '"', "\\", "'''", '"""', "<", ">", "<a>", "#", "\n", " ", "a", "?x", "é", "\\u0041", "{", "1", ":"]
)
texts = st.text() | st.lists(PIECES, max_size=20).map("".join)


def kinds(text):
    return [(token.kind, token.text) for token in tokens(text)]


def words(text):
    return [token.text for token in tokens(text)]


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("string", [r"'a'", r'"a"', r"'\''", r'"\""', "''", '""', "'''a'b''c\n'''", '"""a"b""c\n"""', r"'''\''''"]),
        ("string", ["'# no comment'", "'<no iri>'", "'é\\u00e9\\U0001F600'"]),
        ("iri", ["<>", "<http://a/b#c?d=e>", "<a(b)>", "<\\u0041\\U00000042>", "<é>"]),
        ("variable", ["?x", "$x", "?1", "?_a1", "?é·"]),
        ("bnode", ["_:a", "_:1.b", "_:a-b"]),
        ("pname", [":", "a:", ":a", "a:b", "a-b.c:d.e", "é:è", r"a:\(b\)", "a:%20", "a:b:c", "a:1"]),
        ("lang", ["@en", "@en-GB-x1", "@ar--rtl"]),
        ("number", ["1", "1.5", ".5", "1e5", "1.e-5", ".5E+5"]),
        ("word", ["SELECT", "select", "a", "true", "GROUP_CONCAT", "MD5", "nonsense", "x1"]),
        ("symbol", ["<<(", ")>>", "<<", ">>", "{|", "|}", "^^", "&&", "||", "!=", "<=", ">=", "{", "~", "?", "<"]),
        ("other", ["%", "\\", "`", "\u017f"]),
    ],
)  # fmt: skip
def test_each_is_one_terminal(kind, found):
    """Alone, and between others."""
    for text in found:
        assert kinds(text) == [(kind, text)]
        assert kinds(f"{{ {text}\n}} # end") == [("symbol", "{"), (kind, text), ("symbol", "}")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("?s?p?o.", ["?s", "?p", "?o", "."]),
        ("a:b.", ["a:b", "."]),
        ("a:b..c .", ["a:b..c", "."]),
        ("1.", ["1", "."]),
        ("'a'@en-GB.", ["'a'", "@en-GB", "."]),
        ("'1'^^xsd:int", ["'1'", "^^", "xsd:int"]),
        ('"""a"', ['""', '"a"']),
        ("1<2", ["1", "<", "2"]),
        ("?x<?y&&?y>1", ["?x", "<?y&&?y>", "1"]),
        ("(<p>)??o", ["(", "<p>", ")", "?", "?o"]),
        ("<a b>", ["<", "a", "b", ">"]),
        ("a # b\n c # d", ["a", "c"]),
        ("# only", []),
        ("", []),
        ("true-1", ["true", "-", "1"]),
        ("a-b.c", ["a", "-", "b", ".", "c"]),
    ],
)
def test_terminals_need_no_space_between_them(text, found):
    """The longest match wins, as in the standard."""
    assert words(text) == found


@pytest.mark.parametrize(
    ("together", "apart"),
    [
        ("SELECTDISTINCT*{?s ?p ?o}ORDERBYASC(?s)LIMIT1OFFSET0", "SELECT DISTINCT * { ?s ?p ?o } ORDER BY ASC(?s) LIMIT 1 OFFSET 0"),
        ("SELECTREDUCED?s{?s ?p ?o FILTERNOTEXISTS{?s ?p 7}}", "SELECT REDUCED ?s { ?s ?p ?o FILTER NOT EXISTS { ?s ?p 7 } }"),
        ("SELECT ?s{?s ?p ?o FILTERBOUND(?s)FILTERSTRSTARTS('a','a')}", "SELECT ?s { ?s ?p ?o FILTER BOUND(?s) FILTER STRSTARTS('a','a') }"),
        ("SELECT ?s{?s ?p ?o FILTER(?o NOTIN(7))}", "SELECT ?s { ?s ?p ?o FILTER(?o NOT IN (7)) }"),
        ("SELECT (COUNT(*)AS?n){?s ?p trueOPTIONAL{?s a?t}}GROUPBYSTR(?s)HAVINGCOUNT(*)", "SELECT (COUNT(*) AS ?n) { ?s ?p true OPTIONAL { ?s a ?t } } GROUP BY STR(?s) HAVING COUNT(*)"),
        ("SELECT * FROMNAMED<http://a/g>{SERVICESILENT<http://localhost:1/>{}}", "SELECT * FROM NAMED <http://a/g> { SERVICE SILENT <http://localhost:1/> {} }"),
        ("CONSTRUCTWHERE{?s ?p ?o}", "CONSTRUCT WHERE { ?s ?p ?o }"),
    ],
)  # fmt: skip
def test_keywords_need_no_space_between_them(together, apart):
    """So Oxigraph has it, and the two texts mean the same to it and to us."""
    store = pyoxigraph.Store()
    assert words(together) == words(apart)
    answers = [store.query(text) for text in (together, apart)]
    assert type(answers[0]) is type(answers[1])


@pytest.mark.parametrize(
    "text", ["INSERTDATA{}", "DELETEWHERE{?s ?p ?o}", "CLEARSILENTALL", "COPYSILENTDEFAULTTO<a:b>"]
)
def test_an_updates_keywords_need_no_space_either(text):
    """Each word is one that SPARQL knows."""
    pyoxigraph.Store().update(text)
    assert {"INSERTDATA", "DELETEWHERE", "CLEARSILENTALL", "COPYSILENTDEFAULTTO"}.isdisjoint(words(text))


def test_a_keyword_is_ascii():
    """What only becomes one in upper case is none: Oxigraph does not read it so either."""
    assert "\u017fELECT".upper() == "SELECT"
    assert not any(token.is_word("SELECT") for token in tokens("\u017fELECT * {}"))
    assert next(tokens("sElEcT")).is_word("ASK", "SELECT")


@given(texts)
def test_nothing_is_lost(text):
    """Terminals, and what is skipped between them, are the text again."""
    done = 0
    for token in tokens(text):
        assert SKIPPED.fullmatch(text, done, token.start)
        assert text[token.start : token.end] == token.text != ""
        done = token.end
    assert SKIPPED.fullmatch(text, done)


@given(texts, st.integers(0, 5))
def test_a_walk_can_begin_at_any_terminal(text, number):
    """And goes on as the walk from the beginning does."""
    found = list(tokens(text))
    if number < len(found) and found[number].kind != "word":  # a word may have been cut from one with another
        assert list(tokens(text, found[number].start)) == found[number:]


@settings(max_examples=200)
@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(["'", '"', "'''", '"""']))
def test_oxigraph_ends_a_string_where_we_do(value, quote):
    """Whatever is in it, as far as it is one to Oxigraph."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"')
    literal = (
        quote + (escaped if len(quote) == 3 else escaped.replace("\n", "\\n").replace("\r", "\\r")) + quote
    )
    (row,) = pyoxigraph.Store().query(f"SELECT ({literal}AS ?x) {{}}")
    assert row["x"].value == value
    assert kinds(f"({literal}AS") == [("symbol", "("), ("string", literal), ("word", "AS")]


@settings(max_examples=200)
@given(st.text(st.sampled_from("'\"\\ab\n#"), max_size=12))
def test_oxigraph_reads_strings_as_we_do(text):
    """A row of VALUES may hold strings without a space between them: there are as many, and they hold the same."""
    try:
        rows = list(pyoxigraph.Store().query(f"SELECT * {{ VALUES ?x {{ {text}\n}} }}"))
    except SyntaxError:
        return
    found = words(f"{text}\n")
    alone = [next(pyoxigraph.Store().query(f"SELECT ({one} AS ?x) {{}}")) for one in found]
    assert [row["x"] for row in rows] == [row["x"] for row in alone]


def spread(text):
    """The text with a line break and a comment wherever one may stand."""
    found = list(tokens(text))
    parts = [found[0].text]
    for before, token in pairwise(found):
        glued = token.kind == "lang" or "^^" in {token.text, before.text}
        parts.append(token.text if glued else f" # '{{(<\n{token.text}")
    return "".join(parts)


@settings(max_examples=150, deadline=None)
@given(st.lists(data_blocks(), max_size=3), queries)
def test_comments_between_terminals_change_no_query(data, text):
    """So the terminals are Oxigraph's."""
    store = pyoxigraph.Store()
    for block in data:
        store.update(f"{PROLOGUE} INSERT DATA {{ {block} }}")
    try:
        expected = store.query(text)
    except SyntaxError:
        return
    if isinstance(expected, pyoxigraph.QueryTriples):
        assert len(list(store.query(spread(text)))) == len(list(expected))
    elif isinstance(expected, pyoxigraph.QueryBoolean):
        assert store.query(spread(text)) == expected
    else:
        assert sorted(map(str, store.query(spread(text)))) == sorted(map(str, expected))


@settings(max_examples=100, deadline=None)
@given(updates)
def test_comments_between_terminals_change_no_update(text):
    """Nor whether there is an error."""
    stores = pyoxigraph.Store(), pyoxigraph.Store()
    errors = []
    for store, variant in zip(stores, (text, spread(text)), strict=True):
        try:
            store.update(variant)
            errors.append(None)
        except (SyntaxError, RuntimeError) as error:
            errors.append(type(error))
    assert errors[0] is errors[1]
    assert len(list(stores[0])) == len(list(stores[1]))


@pytest.mark.parametrize(
    "text",
    [
        '"' + '\\"' * 100_000, "'''" + "\\'" * 100_000, "'" * 99_999, "a-" * 100_000, "a." * 100_000 + ";",
        "<" + "\\u00000000" * 20_000, "<a" * 100_000, ":a" + "." * 100_000, "\n" * 100_000 + "a", "1" * 100_000,
        "SELECT" * 30_000, "@a-" * 50_000, "_:a" * 50_000, "#" * 100_000, '""""' * 50_000, "a:%4" * 40_000,
    ],
    ids=lambda text: repr(text[:8]),
)  # fmt: skip
def test_a_text_costs_no_more_than_its_length(text):
    """Hundreds of kilobytes that begin something and never end it take a moment."""
    started = time.process_time()
    assert sum(1 for _ in tokens(text)) <= len(text)
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize(("name", "is_one"), [("x", True), ("1", True), ("é_·", True), ("", False), ("a-b", False), ("a b", False), ("·a", False)])  # fmt: skip
def test_the_names_of_variables(name, is_one):
    """VARNAME, without the question mark."""
    assert is_variable_name(name) is is_one


@given(
    st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3), st.text(max_size=3)), max_size=4),
    st.text(max_size=3),
)
def test_splicing_replaces_what_is_named_and_nothing_else(parts, rest):
    """In order; a replacement may be empty, and so may what is replaced."""
    text, expected, changes = "", "", []
    for kept, old, new in parts:
        changes.append((len(text) + len(kept), len(text) + len(kept) + len(old), new))
        text, expected = text + kept + old, expected + kept + new
    assert splice(text + rest, changes) == expected + rest


# --- shapes -----------------------------------------------------------------------------------------------------

SHAPED = st.lists(
    st.sampled_from(
        [
            *"'\"\\<>#\n{},.;(:\0",
            " ",
            " ",
            " ",
            "'''",
            '"""',
            "<a>",
            "<http://x/y#z>",
            "a",
            "?x",
            "1",
            "-1.5",
            "+1e5",
            "a:b",
            "^^<t>",
            "^^",
            "<<",
            "@en",
            "'a'",
            '"b\\"c"',
            "x1",
            "a:1.2",
            "PREFIX a: <b> ",
            "BASE<c>",
            "_:b1",
        ]
    ),
    max_size=20,
).map("".join)


@settings(max_examples=1000)
@given(SHAPED | texts)
def test_constants_are_terminals(text):
    """Where a shape is found, each constant is what the terminals say; with its own it is the text again."""
    found = shape(text)
    if found is None:
        return
    one, constants = found
    assert one.filled(constants) == text
    terminals = {(token.start, token.end): token.kind for token in tokens(text)}
    end = len(one.declarations)
    for part, constant, kind in zip(one.between.split("\0"), constants, one.kinds, strict=False):
        start = end + len(part)
        end = start + len(constant)
        if kind == "#":
            assert not any(start < stop and begin < end for begin, stop in terminals)
            continue
        skipped = 2 if kind[0] == "^" else 1 if kind in {"+", "-"} else 0
        expected = {"<": "iri", "^": "iri", '"': "string"}.get(kind[0], "number")
        assert terminals[start + skipped, end] == expected
        assert kind[0] != "^" or kind == constant


@settings(max_examples=300)
@given(SHAPED | texts, SHAPED | texts)
def test_one_shape_is_one_sequence_of_terminals(first, second):
    """Two texts of one shape differ in their constants, and in nothing else."""
    found = shape(first)
    if found is None:
        return
    swapped = found[0].filled(
        {"<": "<other>", '"': "'other'", "0": "7", "+": "+7", "-": "-7", "#": "#other"}.get(kind, kind)
        for kind in found[0].kinds
    )
    assert [kind for kind, _ in kinds(swapped)] == [kind for kind, _ in kinds(first)]
    again = shape(swapped)
    assert again is None or again[0] == found[0]


@pytest.mark.parametrize(
    ("text", "between", "constants"),
    [
        (
            "a 'b' <c> 1 -2.5 +.5e1 # d\n",
            "a \0 \0 \0 \0 \0 \0\n",
            ["'b'", "<c>", "1", "-2.5", "+.5e1", "# d"],
        ),
        ("?x1 a:1 _:1 1a 1.", "?x1 a:1 _:1 1a 1.", []),
        ("(1,2)", "(\0,\0)", ["1", "2"]),
        ("'1'^^xsd:int \"2\"^^<t>@", "\0^^xsd:int \0\0@", ["'1'", '"2"', "^^<t>"]),
        ("?x<?y ?x<<a>", None, None),
        (r"a:\' 'b'", None, None),
        ("a 'b", None, None),
        ("a\0'b'", None, None),
    ],
)
def test_the_constants_of_a_text(text, between, constants):
    """Taken out where they can't be anything else; None where that can't be told."""
    found = shape(text)
    assert (
        (between, constants) == (None, None)
        if found is None
        else (found[0].between, [*found[1]]) == (between, constants)
    )


def test_declarations_are_no_constants():
    """Two texts that differ in a prefix are two shapes."""
    text = "# a\nPREFIX a: <{}> BASE<b> prefix c: <c> INSERT DATA {{ <s> a:b 1 }}"
    one, other = (shape(text.format(name)) for name in ("x", "y"))
    assert one[0].declarations == "# a\nPREFIX a: <x> BASE<b> prefix c: <c> "
    assert one[1] == other[1] == ("<s>", "1")
    assert one[0] != other[0]


def test_the_kind_of_a_constant_is_part_of_the_shape():
    """A string is no number and no IRI, a sign counts, and so does a datatype."""
    found = ["'a'", "1", "-1", "+1", "<a>", "'a'^^<b>", "'a'^^<c>"]
    assert len({shape(f"s p {one} .")[0] for one in found}) == len(found)
    assert len({shape(f"s p {one} .")[0] for one in ("'a'", '"b"', "'''c'''", '"""d"""')}) == 1


def test_long_texts_have_no_shape():
    """What is remembered of texts must have an end."""
    assert shape(" " * 4096) is not None
    assert shape(" " * 4097) is None


@pytest.mark.parametrize(
    "piece",
    ["'''\\", '"', "'''\\'", '"a\n', "<a", "<a\\u", "^^<", "#", "1", " 1", " 1.", " +", " 1e", "PREFIX "],
)
def test_a_shape_costs_no_more_than_its_text(piece):
    """What begins a constant and never ends it."""
    started = time.process_time()
    shape((piece * 4096)[:4096])
    assert time.process_time() - started < 0.05
