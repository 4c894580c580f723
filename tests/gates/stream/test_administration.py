"""Streams on the HTTP port: the directory, and what administrators do."""

from __future__ import annotations

import json

import httpx
import pytest
from fastapi import FastAPI

from triplewire.broker.config import StreamConfig
from triplewire.broker.errors import NotFound, RequestError
from triplewire.broker.rights import OPEN, Access, Scope
from triplewire.gates.stream.administration import StreamAdministration, stream_routes


class Hub:
    """Notes what it is asked."""

    def __init__(self):
        self.streams = {}

    def add(self, name, config):
        if name in self.streams:
            raise RequestError("there is one", code="stream_exists")
        self.streams[name] = config

    async def remove(self, name):
        if self.streams.pop(name, None) is None:
            raise NotFound("there is none")


class Directory:
    """Says what it is asked."""

    def page(self, base, accept, access):
        return json.dumps([base, accept, access.client]).encode(), "application/ld+json"


@pytest.fixture
def hub():
    return Hub()


def client_of(hub, access):
    """A client that the router has found to be this one."""
    app = FastAPI()
    app.include_router(
        stream_routes(StreamAdministration(hub, Directory(), lambda host, scheme: f"{scheme}://{host}:1"))
    )

    async def routed(scope, receive, send):
        if access is not None:
            scope["triplewire.access"] = access
        await app(scope, receive, send)

    return httpx.AsyncClient(transport=httpx.ASGITransport(routed), base_url="http://here")


async def test_the_directory(hub):
    """For those who may follow; no cache keeps it, no frame shows it."""
    async with client_of(hub, Access("x", frozenset({Scope.SUBSCRIBE}))) as client:
        answer = await client.get("/streams", headers={"Accept": "a/b"})
        assert answer.json() == ["http://here:1", "a/b", "x"]
        assert answer.headers["content-type"] == "application/ld+json"
        assert answer.headers["vary"] == "Accept"
        assert answer.headers["x-frame-options"] == "DENY"
        assert (await client.head("/streams")).status_code == 200
        assert (await client.get("/secure/streams")).status_code == 200


@pytest.mark.parametrize(
    ("access", "status"), [(None, 401), (Access("x", frozenset({Scope.QUERY, Scope.PUBLISH})), 403)]
)
async def test_it_is_not_for_all(hub, access, status):
    """Nor is anything else."""
    async with client_of(hub, access) as client:
        for answer in (
            await client.get("/streams"),
            await client.post("/streams", json={"name": "a"}),
            await client.delete("/streams/a"),
        ):
            assert answer.status_code == status
            assert answer.json()["status_code"] == status
    assert hub.streams == {}


async def test_only_administrators_change_streams(hub):
    """To be allowed everything else is not enough."""
    async with client_of(hub, Access("x", frozenset(Scope) - {Scope.ADMIN})) as client:
        assert (await client.post("/streams", json={"name": "a"})).status_code == 403
        assert (await client.delete("/streams/a")).status_code == 403
        assert (await client.get("/streams")).status_code == 200


async def test_a_stream_is_made_and_ended(hub):
    """Its settings are those of the configuration; the answer says that it does not last."""
    settings = {"kind": "filter", "of": ["events"], "only": ["source=a"], "window_s": 1}
    async with client_of(hub, OPEN) as client:
        answer = await client.post("/streams", json={"name": "a"} | settings)
        assert (answer.status_code, answer.json()["kept"]) == (
            201,
            "in memory only: it is not there after a restart",
        )
        assert answer.json()["only"] == ["source=a"]
        expected = StreamConfig(kind="filter", of=("events",), only=("source=a",), window_s=1.0)
        assert hub.streams == {"a": expected}
        again = await client.post("/streams", json={"name": "a"})
        assert (again.status_code, again.json()["error"]) == (400, "stream_exists")
        assert (await client.delete("/streams/a")).status_code == 204
        assert (await client.delete("/streams/a")).status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[1, 2]", 400),
        (b'{"kind": "publish"}', 400),
        (b'{"name": 1}', 400),
        (b'{"name": "a", "colour": "red"}', 400),
        (b'{"name": "a", "window_s": "long"}', 400),
        (b'{"name": "a", "of": 1}', 400),
        (b"[" * 5000, 400),
        (b'"' + b"x" * 70_000 + b'"', 413),
    ],
)
async def test_what_is_no_stream(hub, body, status):
    """It says what was expected."""
    async with client_of(hub, OPEN) as client:
        answer = await client.post("/streams", content=body)
    assert answer.status_code == status
    assert answer.json()["error_description"]
    assert hub.streams == {}
