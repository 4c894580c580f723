"""The tracker's paths, in this process: what they answer, and that every error has the flat form."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode
from support.any_json import any_json
from support.simulated_nodes import KEY, a_status, publishes

from triplewire.broker.config import Config
from triplewire.broker.errors import Forbidden, Unauthorized
from triplewire.broker.overlay_config import TrackerConfig
from triplewire.broker.rights import OPEN, Access, Rights, Scope
from triplewire.broker.security.authority import Nobody
from triplewire.gates.quotas import Quotas
from triplewire.gates.relay.parcels import chain_name
from triplewire.gates.relay.registry import Registry
from triplewire.gates.relay.statuses import Instructions, StatusLimits, StreamStatus
from triplewire.gates.relay.tickets import TrackerKey, TrackerKeys, decoded
from triplewire.gates.relay.tracker import Tracker
from triplewire.gates.relay.tracker_access import TrackerAccess
from triplewire.gates.relay.tracking import Tracking

SETTINGS = TrackerConfig(collect_s=0.0, improve_s=0.0, statuses_per_s=1000.0, status_bytes=4096)


class Tokens:
    """An authority whose tokens are clients' names: some may do more than others."""

    def __init__(self):
        self.accesses = {
            "ann": Access("ann", frozenset({Scope.SUBSCRIBE, Scope.PUBLISH})),
            "bob": Access("bob", frozenset({Scope.SUBSCRIBE}), Rights(follow=frozenset({"S"}))),
            "root": Access("root", frozenset({Scope.ADMIN, Scope.SUBSCRIBE})),
        }
        self.changed = []

    def known(self, _):
        return None

    async def access(self, token):
        if token not in self.accesses:
            raise Unauthorized("the token is not good", challenge='Bearer error="invalid_token"')
        return self.accesses[token]

    def still(self, access):
        return self.accesses.get(access.client)

    def listen(self, changed):
        self.changed.append(changed)
        return lambda: self.changed.remove(changed)


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


class Served:
    """A tracker, its client, and its clock."""

    def __init__(self, authority=None, limits=None, **settings):
        config = replace(Config(), tracker=replace(SETTINGS, **settings), limits=limits or Config().limits)
        self.clock = Clock()
        self.key = TrackerKey.open(None)
        self.registry = registry = Registry(config.tracker, config.paths)
        access = TrackerAccess(authority or Nobody(), registry)
        self.quotas = Quotas(config.limits)
        self.tracking = Tracking(config.tracker, self.key, now=self.clock.now, judge=access, seed=1)
        self.tracker = Tracker(
            config,
            self.tracking,
            key=self.key,
            access=access,
            registry=registry,
            quotas=self.quotas,
            clock=self.clock,
        )
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.tracker.app, raise_app_exceptions=False), base_url="http://t"
        )

    async def put(self, status, token=None, **more):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return await self.http.put(f"/nodes/{status.node}", content=status.encode(), headers=headers, **more)

    async def get(self, path, token=None, **more):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return await self.http.get(path, headers=headers, **more)

    async def crowd(self, count, **more):
        for number in range(count):
            answer = await self.put(a_status(f"n{number}", region=f"r{number % 2}", **more))
            assert answer.status_code == 200, answer.text


@asynccontextmanager
async def served(authority=None, limits=None, **settings):
    found = Served(authority, limits, **settings)
    async with found.http:
        yield found


def is_flat(answer, status, code):
    """SEPA's error object."""
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert set(body) == {"error", "status_code", "error_description"}
    assert (body["error"], body["status_code"]) == (code, status)
    return body["error_description"]


async def test_a_status_is_answered_by_what_the_node_shall_have():
    """As JSON that no cache keeps."""
    async with served() as tracker:
        await tracker.crowd(5)
        answer = await tracker.put(a_status("n0", number=2))
        assert answer.headers["content-type"].startswith("application/json")
        assert answer.headers["cache-control"] == "no-store"
        said = Instructions.read(answer.content, StatusLimits())
        assert said.heartbeat_s == SETTINGS.heartbeat_s
        assert {neighbour.node for neighbour in said.streams["S"].neighbours} == {"n1", "n2", "n3", "n4"}
        keys = TrackerKeys()
        keys.add((await tracker.get("/keys")).content, "http://t")
        ticket = keys.ticket(said.streams["S"].neighbours[0].ticket, time.time())
        assert "n0" in ticket.nodes


@pytest.mark.parametrize(
    ("node", "body", "said"),
    [
        ("n", b"", "the body is not JSON"),
        ("n", b"{", "the body is not JSON"),
        ("n", b"{}", "instance: expected"),
        ("n", b"[1]", "the body: expected a JSON object"),
        ("a b", b"{}", "is no node's id"),
    ],
)
async def test_what_is_no_status(node, body, said):
    """Is said with its place, and changes nothing."""
    async with served() as tracker:
        answer = await tracker.http.put(f"/nodes/{node}", content=body)
        assert said in is_flat(answer, 400, "bad_request")
        assert tracker.tracking.state()["nodes"] == 0


MEMBERS = (
    "instance",
    "number",
    "region",
    "links_at",
    "streams_at",
    "capacity",
    "carries",
    "streams",
    "more",
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(member=st.sampled_from(MEMBERS), value=any_json())
def test_any_json_is_a_status_or_is_refused_by_400(member, value):
    """Never by 500, whatever stands where."""

    async def check():
        async with served() as tracker:
            document = json.loads(a_status("n").encode())
            document[member] = value
            answer = await tracker.http.put("/nodes/n", content=json.dumps(document).encode())
            if answer.status_code != 200:
                is_flat(
                    answer, 400, "bad_request" if answer.json()["error"] != "too_complex" else "too_complex"
                )

    asyncio.run(check())


@settings(max_examples=40, deadline=None)
@given(body=st.binary(max_size=200))
def test_any_bytes_are_refused_by_400(body):
    """They are no status."""

    async def check():
        async with served() as tracker:
            is_flat(await tracker.http.put("/nodes/n", content=body), 400, "bad_request")

    asyncio.run(check())


async def test_a_body_that_is_too_large():
    """It is not read to its end."""
    async with served() as tracker:
        answer = await tracker.http.put("/nodes/n", content=b" " * 5000)
        assert "tracker.status_bytes" in is_flat(answer, 413, "too_large")
        answer = await tracker.http.put("/nodes/n", content=b"x", headers={"Content-Encoding": "gzip"})
        is_flat(answer, 415, "unsupported_media_type")


async def test_a_node_that_speaks_too_often():
    """Is told when to come back, and nobody else is."""
    async with served(statuses_per_s=2.0) as tracker:
        for _ in range(2):
            assert (await tracker.put(a_status("a"))).status_code == 200
        answer = await tracker.put(a_status("a"))
        is_flat(answer, 429, "too_many_requests")
        assert answer.headers["retry-after"] == "1"
        assert (await tracker.put(a_status("b"))).status_code == 200
        tracker.clock.now += 1
        assert (await tracker.put(a_status("a"))).status_code == 200


@asynccontextmanager
async def elsewhere(tracker):
    """A client of the same tracker at another address."""
    transport = httpx.ASGITransport(tracker.tracker.app, client=("192.0.2.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://t") as http:
        yield http


async def test_rubbish_under_a_nodes_name_does_not_silence_it():
    """Nor does asking in its name: what comes from elsewhere has its own measure."""
    async with served(statuses_per_s=2.0) as tracker, elsewhere(tracker) as stranger:
        assert (await tracker.put(a_status("a"))).status_code == 200
        for code in (400, 400, 429, 429):
            assert (await stranger.put("/nodes/a", content=b"rubbish")).status_code == code
        for code in (409, 409, 429, 429):
            answer = await stranger.get("/nodes/a/instructions?instance=x")
            assert answer.status_code == code
        assert (await tracker.put(a_status("a"))).status_code == 200
        is_flat(await tracker.get("/nodes/a/instructions?instance=x"), 409, "node_in_use")


async def test_a_status_that_takes_long_counts_as_more_than_one():
    """By the streams that it names, and by the proofs that are verified for it: each once, where they are wrong as well."""
    async with served(statuses_per_s=10.0, status_bytes=262_144) as tracker:
        named = a_status("n", carries=tuple(f"s{number}" for number in range(1000)), streams={})
        assert (await tracker.put(named)).status_code == 200
        is_flat(await tracker.put(named), 429, "too_many_requests")
        streams = publishes("x", *(f"s{number}" for number in range(90)))  # another's proofs
        for code in (200, 429):
            assert (await tracker.put(a_status("p", streams=streams))).status_code == code
        assert tracker.tracking.counted.proofs == 90
        tracker.clock.now += 2.5
        for _ in range(5):
            assert (await tracker.put(a_status("p", streams=streams))).status_code == 200
        assert tracker.tracking.counted.proofs == 90
        assert tracker.tracking.counted.unproven == 540


async def test_a_registry_that_has_not_been_read_turns_nobody_away():
    """A tracker that starts together with its broker, where what is not registered is refused: nobody hears of streams yet."""
    settings = {"registry": "http://127.0.0.1:1", "unregistered": "refuse"}
    async with served(**settings) as tracker:
        status = a_status("a", streams=publishes("a", "news", "other"))
        for _ in range(2):
            answer = await tracker.put(status)
            assert answer.json()["streams"] == {}
            tracker.clock.now += 20
            tracker.tracking.pass_time(tracker.clock.now)
        described, identifier = NamedNode("urn:s"), NamedNode("http://purl.org/dc/terms/identifier")
        may = NamedNode("urn:triplewire:mayPublish")
        triples = [(described, identifier, Literal("news")), (described, may, Literal("*"))]
        assert await tracker.registry._take(triples)
        tracker.tracking.judge(tracker.clock.now)
        for _ in range(20):
            tracker.clock.now += 0.5
            tracker.tracking.pass_time(tracker.clock.now)
            said = (await tracker.put(status)).json()["streams"]
        assert "registry" in said["other"]["refused"]
        assert said["news"]["refused"] == ""
        assert said["news"]["certificate"]


async def test_another_process_under_the_same_name():
    """Is refused while the first is alive."""
    async with served() as tracker:
        assert (await tracker.put(a_status("a", "1"))).status_code == 200
        is_flat(await tracker.put(a_status("a", "2")), 409, "node_in_use")
        is_flat(await tracker.http.delete("/nodes/a", params={"instance": "2"}), 409, "node_in_use")
        assert (await tracker.http.delete("/nodes/a", params={"instance": "1"})).status_code == 204
        assert (await tracker.put(a_status("a", "2"))).status_code == 200
        is_flat(
            await tracker.http.delete("/nodes/a"), 400, "bad_request"
        )  # who does not know that is not the node
        for _ in range(2):
            assert (await tracker.http.delete("/nodes/a", params={"instance": "2"})).status_code == 204
        assert tracker.tracking.state()["nodes"] == 0


async def test_instructions_are_for_a_process_that_is_there():
    """A stream of them begins with a status."""
    async with served() as tracker:
        is_flat(await tracker.get("/nodes/a/instructions?instance=1"), 404, "not_found")
        await tracker.put(a_status("a", "1"))
        is_flat(await tracker.get("/nodes/a/instructions?instance=2"), 409, "node_in_use")
        is_flat(await tracker.get("/nodes/a/instructions"), 400, "bad_request")
        tracker.tracker.close()
        is_flat(await tracker.get("/nodes/a/instructions?instance=1"), 503, "shutting_down")


async def test_a_ticket_to_the_origin_of_a_chain():
    """As one neighbour."""
    async with served() as tracker:
        await tracker.put(a_status("p", streams=publishes("p", "S")))
        await tracker.put(a_status("q"))
        found = (
            await tracker.get(f"/nodes/q/origin?stream=S&chain={chain_name('S', 'p', decoded(KEY)).hex()}")
        ).json()
        assert (found["node"], found["links_at"]) == ("p", "ws://p.example:8002/links")
        assert found["ticket"].count(".") == 2
        is_flat(await tracker.get("/nodes/q/origin?stream=S&chain=00"), 404, "not_found")
        is_flat(await tracker.get("/nodes/x/origin?stream=S&chain=00"), 403, "forbidden")
        is_flat(await tracker.get("/nodes/q/origin?stream=S"), 400, "bad_request")


async def test_a_consumer_is_sent_on():
    """To a node's stream port, with its query but for what is meant for the tracker."""
    async with served() as tracker:
        is_not_now(await tracker.get("/consume/S/stream"))
        await tracker.put(a_status("a", region="eu"))
        await tracker.put(a_status("b", region="us"))
        for way in ("stream", "compressed", "priority", "long-polling"):
            answer = await tracker.get(f"/consume/S/{way}?region=us&last-seen=x%26y&last-seen=z")
            assert answer.status_code == 307
            assert answer.headers["location"] == f"http://b.example:8001/S/{way}?last-seen=x%26y&last-seen=z"
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["triplewire-node"] == "b"
        answer = await tracker.http.head("/consume/S/stream?avoid=b&avoid=c&region=us")
        assert (answer.status_code, answer.headers["location"]) == (307, "http://a.example:8001/S/stream")
        is_not_now(await tracker.get("/consume/S/stream?avoid=a&avoid=b"))
        assert tracker.tracker.state()["refused"] == {"no_node": 2}
        is_flat(await tracker.get("/consume/S/publish"), 404, "not_found")
        is_flat(await tracker.get("/consume/a b/stream"), 400, "bad_request")
        many = "&".join(f"avoid=n{number}" for number in range(40))
        is_flat(await tracker.get(f"/consume/S/stream?{many}"), 400, "bad_request")


async def test_one_consumer_does_not_fill_the_nodes_that_it_is_sent_to():
    """Who asks all the time, and never goes there, would send all others to the one that it avoids."""
    async with served() as tracker, elsewhere(tracker) as attacker:
        await tracker.crowd(4, capacity=200)
        nodes = [tracker.tracking.nodes.get(f"n{number}") for number in range(4)]
        for _ in range(50):
            await attacker.head("/consume/S/stream?avoid=n0")
        assert not any(node.sent for node in nodes)
        for _ in range(10):
            for _ in range(50):
                answer = await attacker.get("/consume/S/stream?avoid=n0")
                assert answer.status_code == 307
            tracker.clock.now += 1
        assert 100 <= sum(node.sent for node in nodes) <= 100 + 10 * 5
        await tracker.get("/consume/S/stream?avoid=n1&avoid=n2&avoid=n3")
        assert nodes[0].sent == 1


def is_not_now(answer):
    """What a consumer of any kind comes back after: no 4xx, and no body that it would take for items."""
    assert (answer.status_code, answer.headers["retry-after"], answer.content) == (503, "1", b"")


async def test_a_consumer_that_asks_too_often_comes_back():
    """Others are told that it was they."""
    limits = replace(Config().limits, address_requests_s=1.0, address_burst=2)
    async with served(limits=limits) as tracker:
        await tracker.put(a_status("a"))
        assert (await tracker.get("/consume/S/stream")).status_code == 307
        is_not_now(await tracker.get("/consume/S/stream"))
        is_not_now(await tracker.http.head("/consume/S/stream"))
        is_flat(await tracker.get("/streams"), 429, "too_many_requests")
        assert tracker.tracker.state()["refused"] == {"too_many_requests": 3}


async def test_an_error_of_ours_is_no_item(monkeypatch):
    """To a consumer; it comes back as well."""
    async with served() as tracker:
        monkeypatch.setattr(tracker.tracking.redirects, "best", lambda *_, **__: 1 / 0)
        answer = await tracker.get("/consume/S/stream")
        assert (answer.status_code, answer.content) == (500, b"")


async def test_what_overlays_look_like():
    """One, all, and how many are in each."""
    async with served() as tracker:
        assert (await tracker.get("/streams")).json() == {"streams": []}
        await tracker.crowd(3)
        await tracker.put(a_status("n0", streams={"S": StreamStatus(consumers=7), "T": StreamStatus()}))
        one = (await tracker.get("/topology/S")).json()
        assert {name: set(node["neighbours"]) for name, node in one["nodes"].items()} == {
            "n0": {"n1", "n2"},
            "n1": {"n0", "n2"},
            "n2": {"n0", "n1"},
        }
        assert one["nodes"]["n0"]["consumers"] == 7
        everything = (await tracker.get("/topology")).json()
        assert everything["epoch"] == one["epoch"] == tracker.tracking.epoch
        assert everything["streams"]["S"] == one
        assert set(everything["streams"]) == {"S", "T"}
        listed = (await tracker.get("/streams")).json()["streams"]
        assert [(stream["stream"], stream["nodes"]) for stream in listed] == [("S", 3), ("T", 1)]
        is_flat(await tracker.get("/topology/U"), 404, "not_found")
        is_flat(await tracker.get("/topology/a b"), 400, "bad_request")
        assert (await tracker.http.head("/topology/S")).status_code == 200


async def test_while_nodes_only_tell_what_they_have_it_is_said():
    """After a start there are no links yet, and no delays: that is not how it is."""
    async with served(collect_s=4.0) as tracker:
        await tracker.crowd(3)
        one = (await tracker.get("/topology/S")).json()
        assert one["collecting"] is True
        assert not any(node["neighbours"] for node in one["nodes"].values())
        figures = (await tracker.get("/latency?stream=S")).json()
        assert (figures["collecting"], figures["pairs"]) == (True, 0)
        tracker.clock.now += 5
        tracker.tracking.pass_time(tracker.clock.now)
        assert (await tracker.get("/topology/S")).json()["collecting"] is False
        figures = (await tracker.get("/latency?stream=S")).json()
        assert (figures["collecting"], figures["pairs"]) == (False, 6)


async def test_a_stream_that_ends_while_its_reader_is_looked_up():
    """Is not there, and the answer has the others."""
    tokens = Tokens()
    async with served(tokens) as tracker:
        access = tokens.access
        for path, streams in (
            ("/streams", lambda body: [one["stream"] for one in body["streams"]]),
            ("/topology", lambda body: list(body["streams"])),
        ):
            await tracker.put(a_status("a", streams={"S": StreamStatus(), "T": StreamStatus()}), "ann")

            async def ends(token):
                await tracker.put(a_status("a", streams={"T": StreamStatus()}), "ann")
                return await access(token)

            tokens.access = lambda token: ends(token) if token == "root" else access(token)
            answer = await tracker.get(path, "root")
            assert streams(answer.json()) == ["T"]


async def test_a_picture_is_a_second_old_at_most():
    """Many who look at it cost no more than one."""
    async with served() as tracker:
        await tracker.crowd(2)
        assert len((await tracker.get("/topology/S")).json()["nodes"]) == 2
        await tracker.crowd(3)
        assert len((await tracker.get("/topology/S")).json()["nodes"]) == 2
        tracker.clock.now += 1
        assert len((await tracker.get("/topology/S")).json()["nodes"]) == 3


async def test_how_long_items_take():
    """All pairs, from one, from one to another with the way."""
    async with served() as tracker:
        await tracker.crowd(12)
        figures = (await tracker.get("/latency?stream=S")).json()
        assert figures["pairs"] == 12 * 11
        assert 0 < figures["mean_ms"] <= figures["p99_ms"] <= figures["most_ms"]
        one = (await tracker.get("/latency?stream=S&from=n0")).json()
        assert set(one["delay_ms"]) == {f"n{number}" for number in range(12)}
        assert one["delay_ms"]["n0"] == 0
        found = (await tracker.get("/latency?stream=S&from=n0&to=n7")).json()
        assert (found["path"][0], found["path"][-1]) == ("n0", "n7")
        assert found["delay_ms"] == one["delay_ms"]["n7"]
        assert (await tracker.put(a_status("n0"))).json()["streams"]["S"]["p99_ms"] == round(
            figures["p99_ms"], 3
        )
        is_flat(await tracker.get("/latency"), 400, "bad_request")
        is_flat(await tracker.get("/latency?stream=S&to=n7"), 400, "bad_request")
        is_flat(await tracker.get("/latency?stream=T"), 404, "not_found")
        is_flat(await tracker.get("/latency?stream=S&from=x"), 404, "not_found")
        is_flat(await tracker.get("/latency?stream=S&from=n0&to=x"), 404, "not_found")


async def test_health_and_figures():
    """Where nobody has to say who they are, all of it is told."""
    async with served() as tracker:
        await tracker.crowd(3)
        await tracker.get("/consume/S/stream")
        await tracker.get("/topology/U")
        health = (await tracker.get("/health")).json()
        assert (health["status"], health["nodes"], health["links"], health["sent"]) == ("ok", 3, 3, 1)
        assert health["refused"] == {"not_found": 1}
        page = await tracker.get("/metrics")
        assert page.headers["content-type"].startswith("text/plain")
        lines = page.text.splitlines()
        assert "triplewire_tracker_nodes 3.0" in lines
        assert "triplewire_tracker_redirects_total 1.0" in lines
        assert 'triplewire_tracker_refused_total{code="not_found"} 1.0' in lines


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("POST", "/nodes/a", 405, "method_not_allowed"),
        ("GET", "/nodes/a", 405, "method_not_allowed"),
        ("PUT", "/nodes/a/b", 404, "not_found"),
        ("DELETE", "/topology", 405, "method_not_allowed"),
        ("GET", "/docs", 404, "not_found"),
    ],
)
async def test_what_is_not_there(method, path, status, code):
    """Has the same form as all else."""
    async with served() as tracker:
        answer = await tracker.http.request(method, path)
        is_flat(answer, status, code)
        assert status != 405 or answer.headers["allow"]


async def test_an_error_of_ours_tells_nothing_of_itself(caplog):
    """The log has it."""
    async with served() as tracker:
        tracker.tracking.overlays.names = lambda: 1 / 0
        assert is_flat(await tracker.get("/streams"), 500, "internal_error") == "internal error"
    assert "ZeroDivisionError" in caplog.text


async def test_pages_of_any_origin_may_ask():
    """Tokens come in a header that no page sends by itself."""
    async with served() as tracker:
        await tracker.crowd(1)
        answer = await tracker.http.get("/consume/S/stream", headers={"Origin": "http://page.example"})
        assert answer.headers["access-control-allow-origin"] == "*"
        asked = {
            "Origin": "http://page.example",
            "Access-Control-Request-Method": "GET",
            "Access-Control-Request-Headers": "Authorization",
        }
        answer = await tracker.http.options("/topology", headers=asked)
        assert answer.status_code == 200
        assert "authorization" in answer.headers["access-control-allow-headers"].lower()


# With tokens


async def test_nobody_without_a_token():
    """But for the keys, and for whether the tracker is well."""
    async with served(Tokens()) as tracker:
        for path in (
            "/streams",
            "/topology",
            "/topology/S",
            "/latency?stream=S",
            "/consume/S/stream",
            "/metrics",
        ):
            answer = await tracker.get(path)
            is_flat(answer, 401, "invalid_grant")
            assert answer.headers["www-authenticate"].startswith("Bearer")
        is_flat(await tracker.put(a_status("a")), 401, "invalid_grant")
        is_flat(await tracker.http.delete("/nodes/a"), 401, "invalid_grant")
        is_flat(await tracker.get("/nodes/a/instructions?instance=i"), 401, "invalid_grant")
        is_flat(await tracker.get("/health", "nobody"), 401, "invalid_grant")
        assert (await tracker.get("/health")).json() == {"status": "ok"}
        assert (await tracker.get("/health", "ann")).json() == {"status": "ok"}
        assert (await tracker.get("/health", "root")).json()["nodes"] == 0
        assert (await tracker.get("/keys")).status_code == 200


async def test_a_node_is_its_clients():
    """While it is alive; others neither tell of it, nor end it, nor hear its instructions."""
    async with served(Tokens()) as tracker:
        assert (await tracker.put(a_status("a"), "ann")).status_code == 200
        is_flat(await tracker.put(a_status("a"), "bob"), 403, "forbidden")
        is_flat(await tracker.get("/nodes/a/instructions?instance=i", "bob"), 403, "forbidden")
        headers = {"Authorization": "Bearer bob"}
        is_flat(await tracker.http.delete("/nodes/a", headers=headers), 403, "forbidden")
        assert tracker.tracking.nodes.get("a").who.client == "ann"


async def test_everybody_sees_what_they_may_follow():
    """And administrators all."""
    both = {"S": StreamStatus(), "T": StreamStatus()}
    async with served(Tokens()) as tracker:
        await tracker.put(a_status("a", streams=both), "ann")
        for token, visible in (("bob", {"S"}), ("ann", {"S", "T"}), ("root", {"S", "T"})):
            listed = (await tracker.get("/streams", token)).json()["streams"]
            assert {stream["stream"] for stream in listed} == visible
            assert set((await tracker.get("/topology", token)).json()["streams"]) == visible
        for path in ("/topology/T", "/latency?stream=T", "/consume/T/stream"):
            is_flat(await tracker.get(path, "bob"), 403, "forbidden")
        is_flat(await tracker.get("/metrics", "bob"), 403, "insufficient_scope")
        assert (await tracker.get("/metrics", "root")).status_code == 200


async def test_who_may_not_publish_has_no_certificate():
    """And who may not follow is told why it is not in the stream."""
    async with served(Tokens()) as tracker:
        said = (await tracker.put(a_status("a", streams=publishes("a", "S", "T")), "bob")).json()["streams"]
        assert said["S"]["certificate"] == ""
        assert "may not follow" in said["T"]["refused"]
        said = (await tracker.put(a_status("b", streams=publishes("b", "S")), "ann")).json()
        assert said["streams"]["S"]["certificate"]


async def test_rights_that_change_hold_at_once():
    """Whoever may not follow any more leaves the overlay, without its next status."""
    tokens = Tokens()
    async with served(tokens) as tracker, tracker.tracker.running():
        await tracker.put(a_status("a"), "ann")
        await tracker.put(a_status("b"), "bob")
        assert set(tracker.tracking.topology("S")["nodes"]) == {"a", "b"}
        tokens.accesses["bob"] = replace(tokens.accesses["bob"], rights=Rights(follow=frozenset()))
        for changed in tokens.changed:
            changed()
        assert set(tracker.tracking.topology("S")["nodes"]) == {"a"}
        with pytest.raises(Forbidden):
            TrackerAccess.read("S", tokens.accesses["bob"])
    assert tokens.changed == []


async def test_a_node_can_not_be_taken_by_a_body_that_comes_late():
    """Whose node it is, is looked at when the status is there: it may be another's by then."""
    async with served(Tokens()) as tracker:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def body():
            begun.set()
            await go_on.wait()
            yield a_status("a", "bobs").encode()

        headers = {"Authorization": "Bearer bob"}
        late = asyncio.create_task(tracker.http.put("/nodes/a", content=body(), headers=headers))
        await begun.wait()
        assert (await tracker.put(a_status("a", "anns"), "ann")).status_code == 200
        tracker.tracking.nodes.unlisten(tracker.tracking.nodes.listen("a", "anns"), tracker.clock.now)
        go_on.set()
        is_flat(await late, 403, "forbidden")
        assert tracker.tracking.nodes.get("a").who.client == "ann"


async def test_questions_do_not_cost_a_node_its_heartbeat():
    """Nor do those who ask in its name, where nobody has to say who they are."""
    async with served(statuses_per_s=2.0) as tracker:
        assert (await tracker.put(a_status("a"))).status_code == 200
        for _ in range(10):
            answer = await tracker.get("/nodes/a/origin?stream=S&chain=00")
        is_flat(answer, 429, "too_many_requests")
        assert (await tracker.put(a_status("a"))).status_code == 200


async def test_bodies_are_held_within_what_all_may_have():
    """And count as what the client has sent."""
    async with served() as tracker:
        held, received = [], []
        app = tracker.tracker.app

        async def holding(scope, receive, send):
            scope["extensions"] = {"triplewire.hold": held.append}
            await app(scope, receive, send)

        tracker.quotas.received = lambda *what: received.append(what)
        status = a_status("a").encode()
        async with httpx.AsyncClient(transport=httpx.ASGITransport(holding), base_url="http://t") as http:
            assert (await http.put("/nodes/a", content=status)).status_code == 200
        assert sum(held) == len(status)
        assert received == [("", "127.0.0.1", len(status))]


async def test_what_the_registry_says_is_asked_as_all_else():
    """Within what an address may ask, and only by the names that streams can have."""
    limits = replace(Config().limits, address_requests_s=1.0, address_burst=3)
    async with served(limits=limits) as tracker:
        assert (await tracker.get("/streams/S")).json()["registered"] is False
        is_flat(await tracker.get("/streams/a b"), 400, "bad_request")
        assert (await tracker.get("/streams/S")).status_code == 200
        is_flat(await tracker.get("/streams/S"), 429, "too_many_requests")


async def test_pictures_of_many_streams():
    """Are made once a second, and let go of."""
    async with served(streams=2000) as tracker:
        for number in range(1000):
            tracker.tracking.status(
                a_status(f"n{number}", streams={f"S{number}": StreamStatus()}), OPEN, tracker.clock.now
            )
        assert len((await tracker.get("/topology")).json()["streams"]) == 1000
        began = time.perf_counter()
        tracker.clock.now += 1
        assert len((await tracker.get("/topology")).json()["streams"]) == 1000
        assert time.perf_counter() - began < 2.0
