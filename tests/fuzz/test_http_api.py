"""The HTTP API as its OpenAPI description has it, and as it has not: schemathesis makes requests, right and wrong ones.

TRIPLEWIRE_FUZZ_S is how long all operations of a broker are fuzzed; what each answers must be described, and no 500.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from support.fuzzing import FUZZ_S, fuzz, texts
from support.running import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.xdist_group("fuzz-http-api"), pytest.mark.timeout(FUZZ_S * 3 + 180)]

ENDLESS = {"/subscribe", "/journal"}  # fuzzed by what they refuse only
CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]
TEXTS = ("application/sparql-query", "application/sparql-update", "text/turtle", "application/n-triples")
TEXTS += ("application/rdf+xml", "text/n3", "application/trig", "application/n-quads")
SECURE = ("security.enabled=true", "security.attempts=0", "security.secret_kib=64")
PERMISSIONS = """
[clients.fuzzer]
scopes = ["query", "update", "subscribe", "publish", "admin"]
read = ["*"]
write = ["*"]
"""


@schemathesis.serializer(*TEXTS)
def as_text(_: Any, value: Any) -> bytes:
    """Any value as the text that it is, or as Python would write it."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


@pytest.fixture(scope="module", params=["open", "secure", "administrator"])
def client(request, tmp_path_factory) -> Iterator[httpx.Client]:
    """Of a broker where nobody has to say who they are, and of one that wants tokens: without one, and with all scopes."""
    settings: list[str] = []
    if request.param != "open":
        directory = tmp_path_factory.mktemp("security")
        (directory / "permissions.toml").write_text(PERMISSIONS)
        settings = [
            *SECURE,
            f"security.directory={directory}",
            f"security.permissions={directory}/permissions.toml",
        ]
    broker = RunningBroker.start(*(part for setting in settings for part in ("--set", setting)))
    with httpx.Client(base_url=broker.http, trust_env=False, timeout=30) as found:
        if request.param == "administrator":
            found.headers["Authorization"] = f"Bearer {token_of(found)}"
        yield found
    assert broker.alive
    assert " ERROR " not in broker.log
    assert "Traceback" not in broker.log
    assert broker.stop() == 0


def token_of(client: httpx.Client) -> str:
    """Registers, and asks for a token."""
    asked = {"register": {"client_identity": "fuzzer", "grant_types": ["client_credentials"]}}
    credentials = client.post("/oauth/register", json=asked).json()["credentials"]
    basic = (credentials["client_id"], credentials["client_secret"])
    return client.post("/oauth/token", data={"grant_type": "client_credentials"}, auth=basic).json()[
        "access_token"
    ]


@pytest.fixture(scope="module")
def description(client) -> dict[str, Any]:
    """What the broker says of itself; where only administrators are told that, it is of no use to others."""
    answer = client.get("/openapi.json")
    if answer.status_code == 401:
        pytest.skip("only administrators are told")
    return answer.json()


def test_every_operation_answers_as_it_says(client, description):
    """With a status and a media type that are described, whatever is asked; never with an error of the broker's own."""
    schema = schemathesis.openapi.from_dict(description)
    schema.config.update(base_url=str(client.base_url))
    drawn = [
        found.ok().as_strategy(generation_mode=mode)
        for found in schema.get_all_operations()
        for mode in GenerationMode
        if found.ok().path not in ENDLESS
    ]
    statuses: dict[tuple[str, int], int] = {}
    with requests.Session() as session:
        session.trust_env = False
        session.headers.update(client.headers)

        def check(case: schemathesis.Case) -> None:
            response = case.call(session=session, timeout=30)
            place = (f"{case.method} {case.operation.path}", response.status_code)
            statuses[place] = statuses.get(place, 0) + 1
            assert response.status_code not in {500, 502}, (case.as_curl_command(), response.text)
            case.validate_response(response, checks=CHECKS)

        assert fuzz(st.one_of(drawn), check) > 0
    for place, count in sorted(statuses.items()):
        print(*place, count)


@pytest.mark.parametrize(
    "path", ["/query", "/update", "/sparql", "/rdf-graph-store?default", "/oauth/register"]
)
def test_any_headers_and_bytes_are_answered(client, path):
    """Content codings, charsets, Accept, Authorization: right ones and others."""
    token = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30).map(str.strip)
    headers = st.fixed_dictionaries(
        {},
        optional={
            "Content-Type": st.one_of(st.sampled_from(["application/sparql-query", *TEXTS]), token),
            "Content-Encoding": st.one_of(st.sampled_from(["gzip", "deflate", "identity", "br"]), token),
            "Accept": st.one_of(st.sampled_from(["*/*;q=0", "text/csv", "text/turtle;q=x"]), token),
            "Accept-Encoding": st.one_of(st.sampled_from(["gzip;q=0.0", "*"]), token),
            "Authorization": st.one_of(
                st.sampled_from(["Bearer", "Bearer x", "bearer a.b.c", "Basic eDp5"]), token
            ),
            "Priority": token,
            "Prefer": token,
            "Last-Event-ID": token,
            "Origin": token,
        },
    )
    bodies = st.one_of(st.binary(max_size=300), texts.map(lambda text: text.encode("utf-8", "surrogatepass")))

    def check(drawn: tuple[str, dict[str, str], bytes]) -> None:
        method, fields, body = drawn
        response = client.request(method, path, headers=fields, content=body)
        assert response.status_code < 500, response.text

    methods = st.sampled_from(["GET", "POST", "PUT", "PATCH"])
    assert fuzz(st.tuples(methods, headers, bodies), check, FUZZ_S / 10) > 0
