"""The tests of SPARQL 1.1 Federated Query, with real endpoints in the places of those that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from pyoxigraph import NamedNode
from support.running import RunningBroker

from w3c.endpoints import Gate, Refused
from w3c.manifests import Data, cases
from w3c.results import MEDIA_TYPES, Answer, check, read
from w3c.skips import parametrize, parametrize_listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from w3c.endpoints import Engine
    from w3c.manifests import Case

pytestmark = pytest.mark.xdist_group("w3c")

CASES = [case for case in cases("QueryEvaluationTest") if "/service/" in case.name]
NOWHERE = {"http://invalid.endpoint.org/sparql": "http://127.0.0.1:1/sparql"}


class OxigraphServer(Gate):
    """`oxigraph serve`, by whose graphs the remote endpoints are played."""

    store_path = "/store"


@pytest.fixture(scope="module")
def remote(oxigraph) -> Iterator[OxigraphServer]:
    """The server of the remote endpoints."""
    server = OxigraphServer(oxigraph.url)
    yield server
    server.close()


@pytest.fixture(scope="module")
def federating() -> Iterator[Gate]:
    """A broker that may reach any endpoint."""
    running = RunningBroker.start("--set", "sparql.service_hosts=*")
    gate = Gate(running.http)
    yield gate
    gate.close()
    assert running.stop() == 0


@parametrize(CASES, raises=Refused)
def test_the_gate_asks_the_endpoints_of_service(federating, remote, case):
    """The answer joins what the broker holds with what the other endpoints say."""
    answer, names = asked(federating, remote, case)

    check(moved_back(answer, names), read(case.result))


@parametrize_listed(CASES)
def test_the_engine_alone_fails_as_well(remote, engine, case):
    """A listed test fails without the gate as well."""
    with pytest.raises(RuntimeError):
        asked(engine, remote, case)


def asked(endpoint: Gate | Engine, remote: OxigraphServer, case: Case) -> tuple[Answer, dict[str, str]]:
    """The endpoint's answer, and where the other endpoints are for it."""
    remote.hold(Data(named=case.services))
    names = NOWHERE | {name: place(remote, name) for name, _ in case.services}
    endpoint.hold(case.data)
    move(endpoint, names)
    return endpoint.query(moved(case.based_text, names), MEDIA_TYPES[".srx"]), names


def place(remote: OxigraphServer, name: str) -> str:
    """Where the endpoint of this name is played: its graph is the default graph there."""
    return f"{remote.url}{remote.query_path}?default-graph-uri={quote(name, safe='')}"


def moved(text: str, names: dict[str, str]) -> str:
    """The text with the endpoints where they are."""
    for name, url in names.items():
        text = text.replace(f"<{name}>", f"<{url}>")
    return text


def move(endpoint: Gate | Engine, names: dict[str, str]) -> None:
    """The same for the data that the endpoint holds."""
    pairs = " ".join(f"(<{name}> <{url}>)" for name, url in names.items())
    endpoint.update(
        f"DELETE {{ ?s ?p ?name }} INSERT {{ ?s ?p ?url }} "
        f"WHERE {{ VALUES (?name ?url) {{ {pairs} }} ?s ?p ?name }}"
    )


def moved_back(answer: Answer, names: dict[str, str]) -> Answer:
    """The answer with the endpoints by their names."""
    back = {NamedNode(url): NamedNode(name) for name, url in names.items()}
    return Answer(answer.variables, tuple(tuple(back.get(term, term) for term in row) for row in answer.rows))
