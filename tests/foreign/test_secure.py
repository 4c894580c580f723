"""The secure flows of SEPA's clients, unmodified and over TLS, as its test identity: its tokens live for five seconds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from foreign.foreigner import Foreigner, Raised
from foreign.installs import HERE, environment, node_packages, program, python_packages
from support.secured import SecuredBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("foreign-secure"), pytest.mark.timeout(300)]

IDENTITY = "SEPATest"
LIFE_S = 5.2
QUERY = "SELECT ?o WHERE { <a> <p> ?o }"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with SecuredBroker(
        tmp_path_factory.mktemp("secured"),
        "security.test_identity=true",
        "security.registration=closed",
        permissions=None,
    ) as secured:
        yield secured


@pytest.fixture(scope="module")
def jsap(broker: SecuredBroker) -> dict[str, Any]:
    """As a profile has it; the host is an address, as `localhost` can be two."""
    https, wss = urlsplit(broker.running.https), urlsplit(broker.running.wss)
    base = f"https://127.0.0.1:{https.port}"
    place = {"port": wss.port, "path": "/secure/subscribe"}
    return {
        "host": "127.0.0.1",
        "oauth": {
            "enable": True,
            "register": f"{base}/oauth/register",
            "tokenRequest": f"{base}/oauth/token",
        },
        "sparql11protocol": {
            "protocol": "https",
            "port": https.port,
            "query": {"path": "/secure/query", "method": "POST", "format": "JSON"},
            "update": {"path": "/secure/update", "method": "POST", "format": "JSON"},
        },
        "sparql11seprotocol": {"protocol": "wss", "availableProtocols": {"wss": place}},
        "options": {},
        "namespaces": {},
        "updates": {},
        "queries": {},
    }


def values(result: dict[str, Any]) -> list[str]:
    return sorted(row["o"]["value"] for row in result["results"]["bindings"])


def cleared(client: Foreigner) -> Foreigner:
    client.do("update", sparql="CLEAR ALL")
    return client


# sepa-js


@pytest.fixture
def unregistered(broker: SecuredBroker) -> Iterator[Foreigner]:
    """A sepa-js that trusts the broker's authority."""
    env = environment(NODE_PATH=str(node_packages("sepa-js")), NODE_EXTRA_CA_CERTS=str(broker.authority.ca))
    client = Foreigner([program("node"), str(HERE / "js" / "secure_driver.cjs")], env)
    yield client
    client.close()


@pytest.fixture
def js(unregistered: Foreigner, jsap: dict[str, Any]) -> Foreigner:
    """One that has logged in."""
    unregistered.do("open", id=IDENTITY, secret=IDENTITY, config=jsap)
    unregistered.do("login")
    return cleared(unregistered)


def test_sepa_js_registers(unregistered: Foreigner, jsap: dict[str, Any]) -> None:
    """Its body is doubly encoded; then it logs in, writes and reads."""
    assert unregistered.do("register", identity=IDENTITY, config=jsap) == IDENTITY
    assert unregistered.do("login") == 5
    cleared(unregistered)
    assert unregistered.do("update", sparql="INSERT DATA { <a> <p> 'x' }")["status"] == 200
    assert values(unregistered.do("query", sparql=QUERY)) == ["x"]


def test_sepa_js_can_not_register_a_stranger(unregistered: Foreigner, jsap: dict[str, Any]) -> None:
    """An identity that the policy does not know."""
    with pytest.raises(Raised, match="401"):
        unregistered.do("register", identity="a stranger", config=jsap)


def test_sepa_js_is_told_of_updates(js: Foreigner) -> None:
    """Subscribe, notification, unsubscribe."""
    js.do("subscribe", name="one", sparql=QUERY)
    assert js.event("one", "subscribed")["sequence"] == 0
    js.do("update", sparql="INSERT DATA { <a> <p> 'x' }")
    assert js.event("one", "notification")["sequence"] == 0
    assert values(js.event("one", "notification")["addedResults"]) == ["x"]
    js.do("unsubscribe", name="one")
    assert "unsubscribed" in js.event("one", "unsubscribed")


def test_sepa_js_renews_its_token_for_queries_and_updates(js: Foreigner) -> None:
    """After it has run out: a 401, another token, the same request again."""
    for number in range(2):
        time.sleep(LIFE_S)
        assert js.do("update", sparql=f"INSERT DATA {{ <a> <p> '{number}' }}")["status"] == 200
        time.sleep(LIFE_S)
        assert len(values(js.do("query", sparql=QUERY))) == number + 1


def test_sepa_js_subscribes_with_a_token_that_has_run_out(js: Foreigner) -> None:
    """It is told so with its alias, gets another and subscribes again."""
    time.sleep(LIFE_S)
    js.do("subscribe", name="late", sparql=QUERY, alias="late")
    assert js.event("late", "subscribed")["alias"] == "late"


def test_sepa_js_goes_on_when_its_token_runs_out(js: Foreigner) -> None:
    """It subscribes again, for the same alias, and is told all that there is and what comes.

    Alone on its socket, sepa-js closes that first, and has its handlers called twice after it has reconnected: a defect
    of its own.
    """
    js.do("subscribe", name="one", sparql=QUERY, alias="one")
    js.event("one", "subscribed")
    js.event("one", "subscribed")
    time.sleep(0.5)
    js.do("update", sparql="INSERT DATA { <a> <p> 'x' }")
    time.sleep(0.5)
    told = [js.event("one", "notification") for _ in range(js.seen("one", "notification"))]
    changes = [one for one in told if one["sequence"]]
    assert {(one["spuid"], *values(one["addedResults"])) for one in changes} == {(told[-1]["spuid"], "x")}
    assert all(values(one["addedResults"]) == [] for one in told if not one["sequence"])


def test_sepa_js_s_subscriptions_go_on_on_one_socket(js: Foreigner, broker: SecuredBroker) -> None:
    """Each subscribes again on the socket that they share; what they held before has ended."""
    opened = broker.running.log.count("opened from")
    for name in ("one", "two"):
        js.do("subscribe", name=name, sparql=QUERY, alias=name)
        js.event(name, "subscribed")
    for name in ("one", "two"):
        assert js.event(name, "subscribed")["alias"] == name
    js.do("update", sparql="INSERT DATA { <a> <p> 'x' }")
    time.sleep(0.5)
    for name in ("one", "two"):
        told = [js.event(name, "notification") for _ in range(js.seen(name, "notification"))]
        assert [one["sequence"] for one in told] == [0, 0, 1]
        assert values(told[-1]["addedResults"]) == ["x"]
    assert broker.running.log.count("opened from") == opened + 1


def test_sepa_js_unsubscribes_with_a_token_that_has_run_out(js: Foreigner) -> None:
    """Another token, and the same again on the same socket."""
    js.do("subscribe", name="one", sparql=QUERY)
    js.event("one", "subscribed")
    time.sleep(LIFE_S - 0.5)
    js.do("unsubscribe", name="one")
    assert "unsubscribed" in js.event("one", "unsubscribed")


# sepy


@pytest.fixture
def sepy(jsap: dict[str, Any]) -> Iterator[Foreigner]:
    python = python_packages(
        "sepy", "sepy==0.43.2.1", "requests", "setuptools<81", "websocket-client", "PyYAML"
    )
    driver = Path(__file__).with_name("sepy_driver.py")
    client = Foreigner([str(python), "-W", "ignore", str(driver)], environment())
    client.do("open", jsap=jsap, client_id=IDENTITY)
    yield client
    client.close()


def test_sepy_registers_logs_in_and_works(sepy: Foreigner) -> None:
    """By its first update."""
    sepy.do("sparql_update", sparql="CLEAR ALL")
    sepy.do("sparql_update", sparql="INSERT DATA { <a> <p> 'x' }")

    assert values(sepy.do("sparql_query", sparql=QUERY)) == ["x"]


def test_sepy_may_begin_with_a_query(sepy: Foreigner) -> None:
    """It mixes up the two URLs then; either takes what belongs to the other."""
    assert sepy.do("sparql_query", sparql="SELECT ?o { <nobody> <p> ?o }")["results"]["bindings"] == []


def test_sepy_is_told_of_updates(sepy: Foreigner) -> None:
    """Its token is beside the subscribe, and within the unsubscribe."""
    sepy.do("sparql_update", sparql="CLEAR ALL")
    spuid = sepy.do("sparql_subscribe", name="one", sparql=QUERY, alias="one")
    assert sepy.event("one", "results") == {"added": [], "removed": []}
    sepy.do("sparql_update", sparql="INSERT DATA { <a> <p> 'x' }")
    assert [row["o"]["value"] for row in sepy.event("one", "results")["added"]] == ["x"]
    sepy.do("unsubscribe", spuid=spuid)


def test_sepy_gets_another_token(sepy: Foreigner) -> None:
    """It raises once, as its users know; then it works again, and its subscription goes on by its next one."""
    sepy.do("sparql_update", sparql="CLEAR ALL")
    time.sleep(LIFE_S)
    with pytest.raises(Raised, match="TokenExpired"):
        sepy.do("sparql_update", sparql="INSERT DATA { <a> <p> 'x' }")
    sepy.do("sparql_update", sparql="INSERT DATA { <a> <p> 'x' }")

    assert values(sepy.do("sparql_query", sparql=QUERY)) == ["x"]
