"""Declarations between operations: the update means what SPARQL says it means."""

from __future__ import annotations

import time

import pytest
from pyoxigraph import Store

from triplewire.broker.prologues import Prologue, with_one_prologue
from triplewire.broker.tokens import tokens


def quads_after(*updates):
    store = Store()
    for update in updates:
        store.update(update, base_iri="http://base/")
    return set(store)


@pytest.mark.parametrize(
    ("together", "apart"),
    [
        (
            "INSERT DATA { <a> <b> 1 } ; PREFIX ex: <http://x/> INSERT DATA { ex:a ex:b 2 }",
            ["INSERT DATA { <a> <b> 1 }", "PREFIX ex: <http://x/> INSERT DATA { ex:a ex:b 2 }"],
        ),
        (
            "PREFIX ex: <http://x/> INSERT DATA { ex:a ex:b 1 } ; # next\n PREFIX ex: <http://y/> INSERT DATA { ex:a ex:b 2 }"
            " ; INSERT DATA { ex:a ex:b 'ex:a PREFIX' }",
            [
                "PREFIX ex: <http://x/> INSERT DATA { ex:a ex:b 1 }",
                "PREFIX ex: <http://y/> INSERT DATA { ex:a ex:b 2 }",
                "PREFIX ex: <http://y/> INSERT DATA { ex:a ex:b 'ex:a PREFIX' }",
            ],
        ),
        (
            "INSERT DATA { <a> <b> 1 } ; BASE <http://z/q/> PREFIX : <r#> INSERT DATA { <a> :b <../c>, <http://abs> }",
            [
                "INSERT DATA { <a> <b> 1 }",
                "BASE <http://z/q/> PREFIX : <r#> INSERT DATA { <a> :b <../c>, <http://abs> }",
            ],
        ),
        (
            "INSERT DATA { <a> <b> 1 } ; prefix ex: <http://x/> DELETE { ?s ?p ?o } INSERT { ?s ex:p ?o } WHERE { ?s ?p ?o }",
            [
                "INSERT DATA { <a> <b> 1 }",
                "PREFIX ex: <http://x/> DELETE { ?s ?p ?o } INSERT { ?s ex:p ?o } WHERE { ?s ?p ?o }",
            ],
        ),
    ],
)
def test_one_request_is_the_same_as_its_operations_in_turn(together, apart):
    """Each operation sees the declarations that stand before it."""
    assert quads_after(with_one_prologue(together)) == quads_after(*apart)


@pytest.mark.parametrize(
    "text",
    [
        "PREFIX ex: <http://x/> INSERT DATA { ex:a ex:b 1 } ; INSERT DATA { ex:a ex:b 2 }",
        "INSERT DATA { <a> <b> '; PREFIX ex: <x>' }",
        "SELECT",
        "",
    ],
)
def test_other_texts_stay_as_they_are(text):
    """What Oxigraph reads is not touched."""
    assert quads_or_error(with_one_prologue(text)) == quads_or_error(text)


def quads_or_error(text):
    try:
        return quads_after(text)
    except SyntaxError as error:
        return str(error)


def test_lines_remain():
    """Oxigraph's errors name the sender's lines."""
    text = "INSERT DATA { <a> <b> 1 } ;\nPREFIX ex: <http://x/>\nINSERT DATA { ex:a\nex:b }"
    with pytest.raises(SyntaxError, match="error at 4:"):
        Store().update(with_one_prologue(text), base_iri="http://base/")


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA {} ;" + "#;\n" * 50_000,
        "INSERT DATA {} " + ";\n#" * 50_000,
        "".join(f"INSERT DATA {{}} ; PREFIX a: <http://x/{number}> " for number in range(3000)),
    ],
    ids=["comments", "semicolons", "prefixes"],
)
def test_a_text_costs_no_more_than_its_length(text):
    """Semicolons in comments, and one prefix declared again and again."""
    started = time.process_time()
    with_one_prologue(text)
    assert time.process_time() - started < 0.5


def test_a_prefix_may_be_declared_again_and_again():
    """Whatever names the others have."""
    declared = ["a:", "n1a:", "n2a:", "a:", "a:", "n1a:"]
    updates = [
        f"PREFIX {name} <http://x/{number}/> INSERT DATA {{ {name}s {name}p {number} }}"
        for number, name in enumerate(declared)
    ]
    assert quads_after(with_one_prologue(" ; ".join(updates))) == quads_after(*updates)


def prologue(*declarations):
    """One with these PREFIX and BASE declarations, over a prefix of the settings."""
    made = Prologue({"set": "http://set/"}, "http://base/x")
    for name, iri in declarations:
        made.prefix(name, iri) if name else made.base(iri)
    return made


def test_all_of_a_prologue():
    """The last declaration of a name counts; relative IRIs are those of the base before them."""
    made = prologue(
        ("a:", "<a#>"), ("", "<http://b/c>"), ("b:", "<d/>"), ("", "<e/>"), ("c:", "<>"), ("a:", "<a>")
    )
    assert made.text == (
        "BASE <http://b/e/> PREFIX set: <http://set/> PREFIX a: <http://b/e/a> PREFIX b: <http://b/d/> "
        "PREFIX c: <http://b/e/>"
    )
    assert prologue().text == " PREFIX set: <http://set/>"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("?s ?p 1", ""),
        ("a:x b:y 'c:z'", "a b"),
        ("a:x a:y", "a"),
        (": :x", ""),
        ("unknown:x", ""),
        ("ab:x", "ab b"),
        ("?o<a:x&&b:y>?s", "a b"),
        ("<http://x/>", ""),
        ("# a:x", ""),
    ],
)
def test_what_a_text_needs_of_a_prologue(text, names):
    """Each prefix that it names, by any reading of it; the base always."""
    made = prologue(("", "<http://b/>"), *((f"{name}:", f"<http://{name}/>") for name in ("a", "b", "ab")))
    expected = [f"PREFIX {name}: <http://{name}/>" for name in sorted(names.split())]
    assert made.used_by(tokens(text)) == " ".join(["BASE <http://b/>", *expected])


def test_an_iri_that_is_none_stays():
    """Oxigraph will say what is wrong with it."""
    made = prologue(("a:", "<http://[>"), ("b:", "<//[>"))
    assert "PREFIX a: <http://[> PREFIX b: <//[>" in made.text


def test_a_long_name_costs_no_more_than_its_length():
    """Though its ends are looked up too."""
    started = time.process_time()
    assert prologue().used_by(tokens(f"{'a' * 1_000_000}:b")) == ""
    assert time.process_time() - started < 0.5
