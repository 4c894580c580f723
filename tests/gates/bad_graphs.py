"""Graph Store requests, and graphs named in requests, that are wrong in one way each; see `bad_http`."""

from __future__ import annotations

from urllib.parse import quote

from .bad_http import STORE, TURTLE, Case, asked, form, get, post

NO_IRI = "is not an absolute IRI"
INJECTION = "http://ex/g> } ; DROP ALL ; INSERT DATA { <http://ex/s> <http://ex/p> <http://ex/o"
GRAPH_STORE = [
    Case("read which graph", get(STORE), 400, "which graph? give ?graph=IRI or ?default"),
    Case("drop which graph", get(STORE, method="DELETE"), 400, "which graph?"),
    Case("replace which graph", post(STORE, "", TURTLE, method="PUT"), 400, "which graph?"),
    Case(
        "graph and default",
        get(f"{STORE}?graph=http://ex/g&default"),
        400,
        "graph and default are both given",
    ),
    Case("graph twice", get(f"{STORE}?graph=http://ex/a&graph=http://ex/b"), 400, "graph is given 2 times"),
    Case("graph not there", get(f"{STORE}?graph=http://ex/none"), 404, "there is no graph <http://ex/none>"),
    Case(
        "patched",
        post(f"{STORE}?default", "", TURTLE, method="PATCH"),
        405,
        "not of the Graph Store Protocol",
    ),
    Case(
        "no media type",
        post(f"{STORE}?default", "<s> <p> 1 .", None),
        415,
        "needs a Content-Type; there are text/turtle",
    ),
    Case(
        "results as a graph",
        post(f"{STORE}?default", "{}", "application/sparql-results+json"),
        415,
        "text/turtle",
    ),
    Case("form as a graph", form(f"{STORE}?default", ("a", "b")), 415, "is not read here"),
    Case("multipart without boundary", post(f"{STORE}?default", "x", "multipart/form-data"), 400, "boundary"),
    Case(
        "part without media type",
        post(f"{STORE}?default", "--x\r\n\r\n<s> <p> 1 .\r\n--x--\r\n", "multipart/form-data; boundary=x"),
        415,
        "text/turtle",
    ),
    Case("bad Turtle", post(f"{STORE}?default", "<s> <p> .", TURTLE), 400, "line 1"),
    Case("Turtle not UTF-8", post(f"{STORE}?default", b"<s> <p> '\xff' .", TURTLE), 400, "not Turtle"),
    Case("bad XML", post(f"{STORE}?default", "<a><b></a>", "application/rdf+xml"), 400, "not RDF/XML"),
    Case(
        "Host without sense",
        post(f"{STORE}/x", "", TURTLE, method="PUT").replace(b"localhost", b'"'),
        400,
        "Host",
    ),
]
BAD_IRIS = {
    "relative": "g",
    "with a space": "http://ex/a b",
    "empty": "",
    "ending the text": INJECTION,
    "of nothing": ":",
}


def _queries(kind: str, iri: str) -> list[Case]:
    names = ("default-graph-uri", "named-graph-uri")
    return [Case(f"{name} {kind}", asked("ASK {}", **{name: iri}), 400, NO_IRI) for name in names]


def _updates(kind: str, iri: str) -> list[Case]:
    update = ("update", "DELETE WHERE { ?s ?p ?o }")
    names = ("using-graph-uri", "using-named-graph-uri")
    return [Case(f"{name} {kind}", form("/update", update, (name, iri)), 400, NO_IRI) for name in names]


def _graphs(kind: str) -> list[Case]:
    target = f"{STORE}?graph={quote(BAD_IRIS[kind])}"
    requests = {
        "GET": get(target),
        "DELETE": get(target, method="DELETE"),
        "PUT": post(target, "", TURTLE, method="PUT"),
        "POST": post(target, "", TURTLE),
    }
    return [Case(f"{method} of a graph {kind}", request, 400, NO_IRI) for method, request in requests.items()]


CASES = [
    *(Case(f"graph store: {case.name}", case.request, case.status, case.says) for case in GRAPH_STORE),
    *(case for kind, iri in BAD_IRIS.items() for case in (*_queries(kind, iri), *_updates(kind, iri))),
    *_graphs("with a space"),
    *_graphs("ending the text"),
]
