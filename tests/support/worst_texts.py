"""Patterns that grow with a number: what overflows Oxigraph's stack or keeps its planner busy when there is too much of it.

Each family makes what stands between the braces of a WHERE; `as_query` and `as_update` put the braces around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Family: TypeAlias = Callable[[int], str]


def nested(before: str, opening: str, core: str, closing: str, after: str = "") -> Family:
    """Something within itself."""
    return lambda n: before + opening * n + core + closing * n + after


def chain(before: str, link: str, after: str = "") -> Family:
    """The same again and again; `#` in the link is its number."""
    return lambda n: before + "".join(link.replace("#", str(number)) for number in range(n)) + after


def as_query(body: str) -> str:
    """A SELECT of the pattern."""
    return f"SELECT * {{ {body} }}"


def as_update(body: str) -> str:
    """An update by the pattern."""
    return f"INSERT {{ <a> <b> <c> }} WHERE {{ {body} }}"


def largest(family: Family, passes: Callable[[str], bool], most: int = 1024) -> int:
    """The largest number for which the text passes; more must not pass again."""
    low, step = 0, 1
    while low + step <= most and passes(family(low + step)):
        low, step = low + step, step * 2
    while step > 1:
        step //= 2
        if low + step <= most and passes(family(low + step)):
            low += step
    return low


def _star(count: int, prefix: str = "o") -> str:
    return " . ".join(f"?s <p{number % 3}> ?{prefix}{number}" for number in range(count)) + " "


EXPRESSIONS: dict[str, Family] = {
    "parentheses": nested("FILTER", "(", "1", ")"),
    "parentheses after a comparison": nested("FILTER(1<", "(", "2", ")", "&&3>0)"),
    "parentheses of BIND": nested("BIND(", "(", "1", ")", " AS ?x)"),
    "functions": nested("FILTER(", "STR(", "?s", ")", ")"),
    "casts": nested("FILTER(", "<http://www.w3.org/2001/XMLSchema#string>(", "?s", ")", ")"),
    "conditions": nested("FILTER(", "IF(1,2,", "?s", ")", ")"),
    "alternatives": nested("FILTER(", "COALESCE(", "?s", ")", ")"),
    "lists of IN": nested("FILTER(", "1 IN (", "?s", ")", ")"),
    "negations of brackets": nested("FILTER", "(!", "(1)", ")"),
    "sums of brackets": nested("FILTER(", "1+(", "1", ")", ")"),
    "conjunctions of brackets": nested("FILTER(", "?s && (", "?s", ")", ")"),
    "comparisons of brackets": nested("FILTER(", "(", "?s", ")=1", ")"),
    "triple terms in a filter": nested("?s ?p ?o FILTER(?o = ", "<<( ?s ?p ", "?o", " )>>", ")"),
}
GROUPS: dict[str, Family] = {
    "groups": nested("", "{", "?s ?p ?o", "}"),
    "groups with triples": nested("", "?s ?p ?o {", "?s ?p ?o", "}"),
    "OPTIONAL": nested("", "OPTIONAL {", "?s ?p ?o", "}"),
    "OPTIONAL with triples": nested("", "?s ?p ?o OPTIONAL {", "?s ?p ?o", "}"),
    "OPTIONAL in groups": nested("", "?s ?p ?o {?s ?p ?o OPTIONAL {", "?s ?p ?o", "}}"),
    "groups in OPTIONAL": nested("", "?s ?p ?o OPTIONAL {?s ?p ?o {", "?s ?p ?o", "}}"),
    "UNION": nested("", "{?s ?p ?o} UNION {", "?s ?p ?o", "}"),
    "UNION with triples": nested("", "?s ?p ?o . {?s ?p ?o} UNION {?s ?p ?z . ", "?s ?p ?o", "}"),
    "MINUS": nested("", "?s ?p ?o MINUS {", "?s ?p ?o", "}"),
    "LATERAL": nested("", "?s ?p ?o LATERAL {", "?s ?p ?o", "}"),
    "FILTER EXISTS": nested("", "?s ?p ?o FILTER EXISTS {", "?s ?p ?o", "}"),
    "FILTER NOT EXISTS": nested("", "?s ?p ?o FILTER NOT EXISTS {", "?s ?p ?o", "}"),
    "EXISTS in an expression": nested("", "?s ?p ?o FILTER(1 && EXISTS {", "?s ?p ?o", "})"),
    "GRAPH": nested("", "GRAPH ?g {", "?s ?p ?o", "}"),
    "SERVICE": nested("", "SERVICE SILENT <http://localhost/> {", "?s ?p ?o", "}"),
    "sub-SELECT": nested("", "{SELECT * {", "?s ?p ?o", "}}"),
    "sub-SELECT with triples": nested("", "?s ?p ?o {SELECT ?s {", "?s ?p ?o", "} LIMIT 9}"),
    "sub-SELECT DISTINCT": nested("", "?s ?p ?o {SELECT DISTINCT ?s {", "?s ?p ?o", "}}"),
    "aggregates": nested("", "?s ?p ?o {SELECT ?s (COUNT(*) AS ?c) {", "?s ?p ?o", "} GROUP BY ?s}"),
    "aggregates without keys": nested("", "?s ?p ?o {SELECT (COUNT(*) AS ?c) {", "?s ?p ?o", "}}"),
    "aggregates with HAVING": nested(
        "", "?s ?p ?o {SELECT ?s {", "?s ?p ?o", "} GROUP BY ?s HAVING (COUNT(*) > 1)}"
    ),
    "VALUES in groups": nested("", "?s ?p ?o {VALUES ?s {1 2} ", "", "}"),
    "BIND in groups": nested("", "?s ?p ?o {BIND(1 AS ?x) ", "", "}"),
    "all kinds": nested(
        "", "?s ?p ?o OPTIONAL {MINUS {?s ?p ?z . {?s ?p ?o} UNION {FILTER EXISTS {", "?s ?p ?o", "}}}}"
    ),
}
TERMS: dict[str, Family] = {
    "blank nodes": nested("?s ?p ", "[ <p> ", "1", " ]"),
    "blank nodes as subjects": nested("", "[ <p> ", "1", " ]", " <p> 1"),
    "lists": nested("?s ?p ", "( ", "1", " )"),
    "lists as subjects": nested("", "( ", "1", " )", " <p> 1"),
    "lists of blank nodes": nested("?s ?p ", "( [ <p> ", "1", " ] )"),
    "triple terms": nested("?s ?p ", "<<( ?s ?p ", "?o", " )>>"),
    "reified triples": nested("?s ?p ", "<< ?s ?p ", "?o", " >>"),
    "annotations": nested("?s ?p ?o ", "{| ?p ?o ", "", " |}"),
    "paths": nested("?s ", "(", "<p>", ")", " ?o"),
    "inverse paths": nested("?s ", "^(", "<p>", ")", " ?o"),
    "alternative paths": nested("?s ", "(", "<p>", "|<q>)", " ?o"),
    "optional paths": nested("?s ", "(", "<p>", ")?", " ?o"),
    "closures": nested("?s ", "(", "<p>", ")*", " ?o"),
    "closures of closures": nested("?s ", "((", "<p>", ")+)*", " ?o"),
}
OPERATORS: dict[str, Family] = {
    "&&": chain("FILTER(1", " && 1", ")"),
    "||": chain("FILTER(1", " || 1", ")"),
    "+": chain("FILTER(1", " + 1", ")"),
    "-": chain("FILTER(1", "-1", ")"),
    "*": chain("FILTER(1", " * 1", ")"),
    "division": chain("FILTER(2", " / 1", ")"),
    "!": chain("FILTER(", "!", "1)"),
    "- after a comparison": chain("FILTER(1<2", "-1", "&&3>4)"),
    "! after a comparison": chain("FILTER(1<", "!", "1&&3>4)"),
    "comparisons": chain("FILTER(1=1", " && ?s=?o", ")"),
    "filters": chain("?s ?p ?o ", "FILTER(?s) "),
    "filters without spaces": chain("?s ?p ?o ", "FILTERBOUND(?s)"),
    "filters by EXISTS": chain("?s ?p ?o ", "FILTER EXISTS {?s ?p ?o} "),
    "assignments": chain("", "BIND(1 AS ?b#) "),
    "UNIONs": chain("{?s ?p ?o}", " UNION {?s ?p ?o}"),
    "UNIONs of joins": chain("{?s ?p ?o}", " UNION {?s ?p ?o . ?o ?q ?r . ?r ?q ?s}"),
    "MINUSes": chain("?s ?p ?o ", "MINUS {?s ?p ?o} "),
    "MINUSes of joins": chain("", "MINUS {?s <a> ?x, ?y, ?z, ?o} "),
    "LATERALs": chain("?s ?p ?o ", "LATERAL {?s ?p ?o} "),
    "projections": chain("{SELECT ?s ", "(1 AS ?x#) ", "{?s ?p ?o}}"),
    "aggregations": chain("{SELECT ", "(COUNT(?s) AS ?x#) ", "{?s ?p ?o}}"),
    "grouping by functions": chain("{SELECT (COUNT(*) AS ?c) {?s ?p ?o} GROUP BY ", "STR(?s)", "}"),
    "grouping by variables": chain("{SELECT (COUNT(*) AS ?c) {?s ?p ?o} GROUP BY ", "(STR(?s) AS ?x#)", "}"),
    "having": chain("{SELECT (COUNT(*) AS ?c) {?s ?p ?o} HAVING ", "(1)", "}"),
    "ordering": chain("{SELECT ?s {?s ?p ?o} ORDER BY ", "STR(?s)", "}"),
    "ordering without spaces": chain("{SELECT ?s {?s ?p ?o} ORDERBY", "STR(?s)", "}"),
    "path alternatives": chain("?s <p>", "|<p>", " ?o"),
    "path exclusions": chain("?s !(<p>", "|<p>", ") ?o"),
}
JOINS: dict[str, Family] = {
    "star": chain("", "?s <p> ?o# . "),
    "star by comma": chain("?s <p> 1", ", ?o#"),
    "star by semicolon": chain("?s <p> 1", "; <p> ?o#"),
    "star of constants": chain("?s <p> 1 . ", "?s <p#> <o> . "),
    "path": chain("?s <p> ?v . ", "?v# <p> ?v . "),
    "steps of a path": chain("?s <p>", "/<p>", " ?o"),
    "list": chain("?s ?p (", "1 ", ")"),
    "list of words": chain("?s ?p (", "true ", ")"),
    "list after EXISTS": chain("FILTER EXISTS {} ?s ?p (", "1 ", ")"),
    "VALUES": chain("?s ?p ?o ", "VALUES ?s {1 2} "),
    "GRAPHs": chain("", "GRAPH ?g {?s <p> ?o#} "),
    "groups": chain("", "{?s <p> ?o#} "),
    "reifiers": chain("?s ?p ?o ", "~?r# "),
    "annotations": chain("", "?s ?p ?o# {| ?p ?z |} . "),
    "reified triples": chain("", "<< ?s ?p ?o# >> ?p ?o . "),
    "blank nodes": chain("", "[ <p> ?o# ] . "),
    "closures": chain("", "?s <p>* ?o# . "),
    "triples between filters": chain("", "?s <p> ?o# FILTER(1) "),
    "triples between BINDs": chain("", "?s <p> ?o# BIND(1 AS ?b#) "),
    "triples between OPTIONALs": chain("", "?s <p> ?o# OPTIONAL {?s ?p ?z#} "),
    "triples between MINUSes": chain("", "?s <p> ?o# MINUS {?s ?p <x>} "),
    "sub-SELECTs": chain("", "{SELECT ?s ?v# {?s <p> ?v#}} "),
    "aggregates": chain("", "{SELECT ?s (COUNT(*) AS ?c#) {?s ?p ?o} GROUP BY ?s} "),
    "UNIONs": chain("", "{?s ?p ?o} UNION {?s ?q ?r} "),
    "OPTIONALs": chain("?s ?p ?o ", "OPTIONAL {?s <p> ?x#} "),
}
# Many scopes that stand in or around each other: each is within its limit, and all together take long.
TOGETHER: dict[str, Family] = {
    "large OPTIONALs": chain("?s ?p ?o ", f"OPTIONAL {{ {_star(50)} }} "),
    "large MINUSes": chain("?s ?p ?o ", f"MINUS {{ {_star(60)} }} "),
    "large UNIONs": chain("{}", f" UNION {{ {_star(60)} }} "),
    "large sub-SELECTs": chain("", f"{{SELECT ?s {{ {_star(20)} }}}} "),
    "stars in sub-SELECTs": lambda n: (_star(n) + "{SELECT ?s {") * 2 + _star(n) + "}}" * 2,
    "stars in aggregates": lambda n: (
        (_star(n) + "{SELECT ?s (COUNT(*) AS ?c) {") * 4 + _star(n) + "} GROUP BY ?s}" * 4
    ),
    "stars in OPTIONALs": lambda n: (_star(n) + "OPTIONAL {") * 4 + _star(n) + "}" * 4,
    "stars in UNIONs": lambda n: (_star(n) + "{?s ?p ?o} UNION {") * 4 + _star(n) + "}" * 4,
    "a star after OPTIONALs": lambda n: chain("?s ?p ?o ", "OPTIONAL {?s ?p ?x#} ")(n) + _star(30, "y"),
    "a star after a group of UNIONs": lambda n: "{ " + "{?s ?p ?o} UNION {?s ?p ?o} " * n + "} " + _star(30),
    "a star after a sub-SELECT": lambda n: (
        "{SELECT * {" + chain("", "OPTIONAL {?s ?p ?x#} ")(n) + "}} " + _star(30)
    ),
    "steps among alternatives": chain("?o <p> ?z . ?s <p>", "/<p>", "|<q> ?o"),
    "steps in a closure": chain("?o <p> ?z . ?s (<p>", "/<p>", ")+ ?o"),
    "values in a star": lambda n: _star(50) + "VALUES ?s {" + "1 " * (n * 200) + "}",
    "values in a smaller star": lambda n: _star(30) + "VALUES ?s {" + "1 " * (n * 200) + "}",
    "a filter over UNIONs": lambda n: (
        " UNION ".join(["{?s ?p ?o}"] * (n + 1)) + f" FILTER(?s IN ({','.join(['1'] * 5000)}))"
    ),
}
