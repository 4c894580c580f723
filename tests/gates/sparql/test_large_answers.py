"""Large answers go out as they come: in bounded memory, compressed on the way, and only while somebody reads."""

from __future__ import annotations

import time
import zlib
from urllib.parse import quote

import httpx
import psutil
import pytest
from support.raw import Raw
from support.sparql import Sparql

pytestmark = pytest.mark.xdist_group("gates-large-answers")

DIGITS = "0 1 2 3 4 5 6 7 8 9"
ROWS = 300_000
MANY = (
    f"SELECT * {{ {' '.join(f'VALUES ?{name} {{ {DIGITS} }}' for name in 'abcde')} VALUES ?f {{ 0 1 2 }} }}"
)
REQUEST = f"GET /query?query={quote(MANY)} HTTP/1.1\r\nHost: x\r\n"
MEGABYTE = 1024 * 1024


@pytest.fixture(scope="module")
def hasty(broker_with):
    """A client of a broker that gives a query, and a reader, half a second."""
    with Sparql(broker_with("limits.query_s=0.5", "limits.send_s=0.5", "scheduler.readers=1").http) as client:
        yield client


def read_slowly(parts):
    """Take one after the other, with a rest between."""
    for _ in parts:
        time.sleep(0.001)


def test_a_slow_reader_does_not_fill_the_memory(broker, sparql):
    """300,000 rows are about 70 MB; of them the broker holds some chunks."""
    process = psutil.Process(broker.process.pid)
    before = process.memory_info().rss
    with Raw(broker.http) as raw:
        raw.send(REQUEST, "Connection: close\r\n\r\n")
        size, grown = 0, 0
        for _ in range(20):
            time.sleep(0.02)
            size += len(raw.socket.recv(65536))
            grown = max(grown, process.memory_info().rss - before)
        assert sparql.health()["reading"] == 1
        while data := raw.socket.recv(MEGABYTE):
            size += len(data)
            grown = max(grown, process.memory_info().rss - before)

    assert size > 60 * MEGABYTE
    assert grown < 16 * MEGABYTE


def test_a_large_answer_is_whole(sparql):
    """In chunks, each row once."""
    with sparql.http.stream(
        "POST", "/query", data={"query": MANY}, headers={"Accept": "text/csv"}
    ) as response:
        lines = list(response.iter_lines())

    assert response.headers["transfer-encoding"] == "chunked"
    assert lines[0] == "a,b,c,d,e,f"
    assert len(lines) == ROWS + 1
    assert len(set(lines)) == ROWS + 1


def test_a_large_answer_is_compressed_on_the_way(sparql):
    """Gzip begins with the first chunk and ends with the last."""
    headers = {"Accept": "text/csv", "Accept-Encoding": "gzip"}
    with sparql.http.stream("POST", "/query", data={"query": MANY}, headers=headers) as response:
        raw = b"".join(response.iter_raw())
    unzipped = zlib.decompress(raw, wbits=31)

    assert response.headers["content-encoding"] == "gzip"
    assert "Accept-Encoding" in response.headers["vary"]
    assert unzipped.count(b"\r\n") == ROWS + 1
    assert len(raw) < len(unzipped) / 5


def test_large_graphs_go_out_as_they_come_too(sparql):
    """CONSTRUCT has no end to wait for."""
    number = "BIND(?a*10000 + ?b*1000 + ?c*100 + ?d*10 + ?e + ?f*100000 AS ?n) }"
    query = (
        MANY.replace("SELECT *", "CONSTRUCT { <http://ex/s> <http://ex/p> ?n }").removesuffix("}") + number
    )
    with sparql.http.stream(
        "POST", "/query", data={"query": query}, headers={"Accept": "application/n-triples"}
    ) as response:
        lines = sum(1 for _ in response.iter_lines())

    assert response.headers["transfer-encoding"] == "chunked"
    assert lines == ROWS


@pytest.mark.parametrize("headers", ["", "Accept-Encoding: gzip\r\n", "Accept: text/csv\r\n"])
def test_a_client_that_leaves_frees_the_reader_thread(broker, sparql, headers):
    """Within two seconds, and the next takes its place."""
    with Raw(broker.http) as raw:
        raw.send(REQUEST, headers, "\r\n")
        assert raw.line() == b"HTTP/1.1 200 OK\r\n"
        sparql.wait_for_health(reading=1)

    sparql.wait_for_health(within_s=2, reading=0)
    assert sparql.ask("ASK {}")


def test_clients_that_do_not_read_do_not_keep_others_from_asking(broker, sparql):
    """The threads are few; all but one of them wait here."""
    waiting = [Raw(broker.http) for _ in range(3)]
    for raw in waiting:
        raw.send(REQUEST, "\r\n")
        assert raw.line() == b"HTTP/1.1 200 OK\r\n"

    started = time.monotonic()
    assert sparql.ask("ASK {}")
    sparql.update("INSERT DATA { <http://ex/s> <http://ex/p> 1 }")
    assert time.monotonic() - started < 2
    for raw in waiting:
        raw.close()
    sparql.wait_for_health(within_s=2, reading=0)


def test_a_head_has_no_body_to_wait_for(sparql):
    """The connection goes on at once."""
    head = sparql.http.head("/query", params={"query": MANY})

    assert (head.status_code, head.content) == (200, b"")
    assert sparql.ask("ASK {}")
    sparql.wait_for_health(within_s=5, reading=0)


def test_a_reader_that_takes_nothing_is_cut(hasty):
    """limits.send_s; what was sent does not look like a whole answer."""
    with Raw(str(hasty.http.base_url)) as raw:
        raw.send(REQUEST, "\r\n")
        hasty.wait_for_health(within_s=5, reading=1)
        hasty.wait_for_health(within_s=5, reading=0)
        with pytest.raises(ConnectionResetError):
            raw.rest()


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_an_answer_that_is_cut_does_not_look_whole(hasty, version):
    """A reset: for HTTP/1.0 a plain end of the connection would be the end of the answer."""
    with Raw(str(hasty.http.base_url)) as raw:
        raw.send(REQUEST.replace("1.1", version), "\r\n")
        with pytest.raises(ConnectionResetError):
            read_slowly(iter(raw.line, b""))


def test_an_answer_that_takes_too_long_is_cut(hasty):
    """limits.query_s; chunks without an end are an error to every client."""
    with (
        hasty.http.stream("POST", "/query", data={"query": MANY}) as response,
        pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)),
    ):
        read_slowly(response.iter_raw(65536))

    assert response.status_code == 200
    hasty.wait_for_health(within_s=2, reading=0)


def test_a_query_that_ran_too_long_is_told_so(hasty):
    """504 with the setting's name, where nothing has been sent yet."""
    counted = MANY.replace("SELECT *", "SELECT (COUNT(*) AS ?n)").removesuffix("}")
    response = hasty.query(f"{counted} VALUES ?g {{ {DIGITS} }} VALUES ?h {{ 0 1 }} }}")

    assert response.status_code == 504
    assert "limits.query_s" in response.json()["error_description"]
    assert response.headers["retry-after"] == "1"
