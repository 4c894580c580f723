"""SERVICE and LOAD: what is not allowed by host is refused, however it is written, and nothing is asked."""

from __future__ import annotations

import socket
import threading

import pytest
from support.stores import embedded
from support.stub_endpoint import ROWS, Stub

from triplewire.broker.config import SparqlConfig
from triplewire.broker.errors import BrokerError, UnsupportedOperation
from triplewire.broker.model import Query, Update
from triplewire.broker.remote import allow_remote

HOSTS = SparqlConfig(service_hosts=("good.org", "other.org:8080"), load_hosts=("Data.Example",))
ANY = SparqlConfig(service_hosts=("*",), load_hosts=("*",))
PREFIXES = "PREFIX ex: <http://good.org/> PREFIX : <http://good.org/> PREFIX service: <http://good.org/> "

QUERIES = [
    "SELECT * { SERVICE <URL> { ?s ?p ?o } }",
    "SELECT * { SERVICE SILENT <URL> { ?s ?p ?o } }",
    "SELECT * { service\n<URL> { ?s ?p ?o } }",
    "SELECT * { SERVICE # <http://good.org/>\n <URL> { ?s ?p ?o } }",
    "SELECT * { SERVICESILENT<URL>{ ?s ?p ?o } }",
    "SELECT * { ?s ?p trueSERVICE<URL>{ ?s ?p ?o } }",
    "SELECT * { ?s ?p 1SERVICE<URL>{ ?s ?p ?o } }",
    "SELECT * { OPTIONAL { FILTER EXISTS { SERVICE <URL> { ?s ?p ?o } } } }",
    "SELECT * { { SELECT * { SERVICE <URL> { ?s ?p ?o } } } }",
    "PREFIX ex: <URL> SELECT * { SERVICE ex: { ?s ?p ?o } }",
    "PREFIX ex: <URL> SELECT * { SERVICEex:a{ ?s ?p ?o } }",
    "PREFIX ex: <URL> SELECT * { SERVICESILENTex:a{ ?s ?p ?o } }",
    "PREFIX ex: <URL> SELECT * { SERVICE SILENTex:a{ ?s ?p ?o } }",
    "PREFIX : <URL> SELECT * { SERVICE:a{ ?s ?p ?o } }",
    "PREFIX ex: <URL> SELECT * { ?s ?p trueSERVICEex:a{ ?s ?p ?o } }",
    "BASE <URL> SELECT * { SERVICE <a> { ?s ?p ?o } }",
    "SELECT * { SERVICE ?g { ?s ?p ?o } VALUES ?g { <URL> } }",
]
UPDATES = [
    "LOAD <URL>",
    "LOAD<URL>INTO GRAPH <http://x/g>",
    "INSERT DATA {} ; LOAD <URL>",
    "PREFIX ex: <URL> LOAD ex:a",
    "PREFIX ex: <URL> LOADex:a",
    "PREFIX : <URL> LOAD:a",
    "BASE <URL> LOAD <a>",
    "VERSION '1.2' PREFIX ex: <URL> INSERT DATA {} ; LOADex:a",
    "INSERT { ?s ?p ?o } WHERE { SERVICE <URL> { ?s ?p ?o } }",
    "PREFIX ex: <URL> DELETE { ?s ?p ?o } WHERE { SERVICESILENTex:a{ ?s ?p ?o } }",
]


@pytest.mark.parametrize("text", QUERIES + UPDATES)
@pytest.mark.parametrize(
    "url",
    ["http://evil.org/", "https://10.0.0.1/", "http://good.org.evil.org/", "http://evil.org/?a=//good.org/"],
)
def test_a_host_that_is_not_in_the_settings_is_refused(text, url):
    """By the name of its setting."""
    with pytest.raises(UnsupportedOperation, match=r"sparql\.(service|load)_hosts") as caught:
        allow_remote(text.replace("URL", url), HOSTS)
    assert (caught.value.status, caught.value.code) == (400, "unsupported")


@pytest.mark.parametrize(
    "target",
    [
        "<http://good.org/sparql>", "<https://GOOD.org>", "<http://good.org:81/x?y#z>", "<http://user@good.org/>",
        "<http://other.org:8080/>",
    ],
)  # fmt: skip
def test_a_host_in_the_settings_is_allowed(target):
    """On any port where the setting names none, on its port where it does; with either scheme."""
    text = f"SELECT * {{ SERVICE {target} {{ ?s ?p ?o }} }}"
    assert allow_remote(text, HOSTS) == text
    assert allow_remote(text.replace("SERVICE ", "SERVICE SILENT "), HOSTS)
    assert (
        allow_remote("LOAD SILENT <http://data.example/a.ttl>", HOSTS)
        == "LOAD SILENT <http://data.example/a.ttl>"
    )


@pytest.mark.parametrize(
    "target",
    [
        "<http://other.org/>", "<http://other.org:80/>", "<ftp://good.org/>", "<file:///etc/passwd>", "<good.org>",
        "<//good.org/>", "<http:good.org>", "<http:///good.org/>", "<http://evil.org\\u002F@good.org/>",
        "<http://good.org\\u002Eevil.org/>", "<>", "<http://[::1]/>", "ex:a", "?g", "$g",
    ],
)  # fmt: skip
def test_what_only_looks_like_an_allowed_host_is_refused(target):
    """Another port, scheme or form; an escape, a prefix, a base or a variable that hides the host."""
    with pytest.raises(UnsupportedOperation):
        allow_remote(f"{PREFIXES} SELECT * {{ SERVICE {target} {{ ?s ?p ?o }} }}", HOSTS)


@pytest.mark.parametrize("text", QUERIES + UPDATES)
def test_the_star_allows_all(text):
    """It is the only setting that lets a variable, a prefixed name or a relative IRI through."""
    text = text.replace("URL", "http://evil.org/")
    assert allow_remote(text, ANY) == text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?service ?load 'SERVICE <http://evil.org/> {}' } # LOAD <http://evil.org/>",
        'SELECT * { ?s ?p """LOAD <x>""" , <http://x/SERVICE> }',
        "PREFIX service: <http://x/> SELECT * { GRAPH service:a { ?s service:p service:b . ?s ?p load:c } }",
        "PREFIX load: <http://x/> CLEAR GRAPH load:a ; COPY load:a TO load:b ; INSERT DATA { load:a load:b load:c }",
        "PREFIX load: <http://x/> DELETE { ?s ?p ?o } USING load:g USING NAMED load:h WHERE { ?s ?p ?o }",
        "PREFIX load: <http://x/> DESCRIBE load:a load:b",
        "not SPARQL at all",
        "LOA",
        "",
    ],
)
def test_other_texts_stay_as_they_are(text):
    """Also where the words stand in strings, comments, IRIs and names."""
    assert allow_remote(text, SparqlConfig()) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("LOAD SILENT <http://evil.org/>", "INSERT DATA {} "),
        ("LOADSILENT<http://evil.org/>INTO GRAPH <http://x/g>", "INSERT DATA {} "),
        ("load silent ex:a ; CLEAR ALL", "INSERT DATA {} ; CLEAR ALL"),
        ("CLEAR ALL ; LOAD SILENT <http://evil.org/> ; CLEAR ALL", "CLEAR ALL ; INSERT DATA {} ; CLEAR ALL"),
        ("LOAD SILENT <http://evil.org/> # comment", "INSERT DATA {}  # comment"),
    ],
)
def test_a_silent_load_of_another_host_fails_silently(text, left):
    """The operations around it are carried out."""
    assert allow_remote(text, HOSTS) == left


@pytest.fixture
def knocks():
    """An address that counts who asks for it."""
    asked = []
    listener = socket.create_server(("127.0.0.1", 0))

    def count():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            asked.append(1)
            connection.close()

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/", asked
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(5)


@pytest.mark.parametrize("hosts", [(), ("good.org",)])
def test_what_is_refused_asks_nobody(knocks, hosts):
    """None of the ways that Oxigraph itself would follow."""
    url, asked = knocks
    store = embedded(service_hosts=hosts, load_hosts=hosts)
    for text in QUERIES:
        with pytest.raises(BrokerError):
            store.evaluate(Query(text.replace("URL", url)))
    for text in [*UPDATES, *(text.replace("LOAD", "LOAD SILENT ", 1) for text in UPDATES)]:
        try:
            store.apply(Update(text.replace("URL", url)))
        except BrokerError:
            continue
        assert "LOAD" in text, "only a silent load may seem to succeed"
    assert not asked


def test_what_is_allowed_is_asked():
    """The same by a host that the settings name."""
    stub = Stub()
    try:
        store = embedded(service_hosts=("127.0.0.1",))
        rows = store.evaluate(Query(f"SELECT ?x {{ SERVICE <{stub.url}/> {{ ?s ?p ?x }} }}")).rows
        assert [term.value for (term,) in rows] == [row["x"]["value"] for row in ROWS["results"]["bindings"]]
        assert len(stub.asked) == 1
    finally:
        stub.close()
