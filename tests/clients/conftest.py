"""A small broker in this process, whose connections a test can break and whose answers it can script."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import parse_qs, urlsplit

import pytest
from pyoxigraph import Literal, QueryBoolean, QueryResultsFormat, QueryTriples, RdfFormat, Store
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

from triplewire.broker.model import Bindings, BindingsDelta, Failure, Notification, Unsubscribed
from triplewire.broker.wire.subscribe import SubscribeMessage, decode_client, encode_broker, encode_failure


@pytest.fixture(autouse=True)
def configuration(tmp_path, monkeypatch):
    """The user's configuration directory: never the real one."""
    folder = tmp_path / "configuration"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    return folder


class QuietServer(ThreadingHTTPServer):
    """Does not print that a client hung up."""

    daemon_threads = True

    def handle_error(self, *_) -> None:
        pass


class FakeBroker:
    """SPARQL over HTTP and the SE Protocol over WebSocket, naive and on a store in memory."""

    def __init__(self) -> None:
        self.store = Store()
        self.lock = threading.RLock()
        self.requests: list[dict] = []
        self.replies: deque[tuple[int, dict[str, str], bytes]] = deque()  # sent instead of an answer, in turn
        self.refusals: deque[Failure] = deque()  # sent instead of first results, in turn
        self.silent = False  # whether subscribes are ignored
        self.said: list = []  # what clients said on WebSockets
        self._sockets: dict = {}
        self._numbers = count(1)
        self._ws_port = 0
        self._http = QuietServer(("127.0.0.1", 0), self._handler())
        self._http_thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._http_thread.start()
        self.start()

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def ws(self) -> str:
        return f"ws://127.0.0.1:{self._ws_port}/subscribe"

    @property
    def subscriptions(self) -> int:
        with self.lock:
            return sum(len(held) for held in self._sockets.values())

    def start(self) -> None:
        """Listen for WebSockets, at the same port again."""
        self._server = serve(self._converse, "127.0.0.1", self._ws_port, ping_interval=None)
        self._ws_port = self._server.socket.getsockname()[1]
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def stop(self) -> None:
        """Listen no more, and break what is open."""
        self._server.shutdown()
        self._thread.join()
        self.drop()

    def drop(self) -> None:
        """Break every WebSocket without a goodbye."""
        with self.lock:
            for connection in tuple(self._sockets):
                self._sockets.pop(connection)
                connection.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.stop()
        self._http.shutdown()
        self._http_thread.join()
        self._http.server_close()

    def update(self, sparql: str) -> None:
        """Make an update and tell subscribers."""
        with self.lock:
            held = [(c, s) for c, subscriptions in self._sockets.items() for s in subscriptions.values()]
            before = [self.evaluate(s["query"].sparql) for _, s in held]
            self.store.update(sparql)
            for (connection, subscription), old in zip(held, before, strict=True):
                new = self.evaluate(subscription["query"].sparql)
                delta = BindingsDelta.between(new.vars, old.bag(), new.bag())
                if delta:
                    subscription["sequence"] += 1
                    self._tell(
                        connection, Notification(subscription["spuid"], None, subscription["sequence"], delta)
                    )

    def evaluate(self, sparql: str) -> Bindings:
        found = self.store.query(sparql)
        if isinstance(found, QueryBoolean):
            return Bindings(("boolean",), ((Literal(bool(found)),),))
        names = tuple(variable.value for variable in found.variables)
        return Bindings(names, tuple(tuple(row) for row in found))

    def until(self, condition) -> None:
        """Wait for what other threads do."""
        deadline = time.monotonic() + 5
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def tell_all(self, text: str) -> None:
        """Send any text on every WebSocket."""
        with self.lock:
            for connection in self._sockets:
                connection.send(text)

    def _converse(self, connection) -> None:
        with self.lock:
            self._sockets[connection] = {}
        try:
            for text in connection:
                with self.lock:
                    self._heard(connection, decode_client(text))
        except (ConnectionClosed, OSError, KeyError):
            pass
        finally:
            with self.lock:
                self._sockets.pop(connection, None)

    def _heard(self, connection, message) -> None:
        self.said.append(message)
        held = self._sockets[connection]
        if not isinstance(message, SubscribeMessage):
            known = held.pop(message.spuid, None) is not None
            self._tell(
                connection,
                Unsubscribed(message.spuid)
                if known
                else Failure("sid_not_found", 500, "no such subscription", message.alias),
            )
        elif self.refusals:
            refusal = self.refusals.popleft()
            self._tell(connection, Failure(refusal.code, refusal.status, refusal.description, message.alias))
        elif not self.silent:
            spuid = f"sepa://subscription/{next(self._numbers)}"
            held[spuid] = {"spuid": spuid, "query": message.query, "sequence": 0}
            first = BindingsDelta.first(self.evaluate(message.query.sparql))
            self._tell(connection, Notification(spuid, message.alias, 0, first))

    def _tell(self, connection, message) -> None:
        with contextlib.suppress(ConnectionClosed):
            connection.send(encode_broker(message))

    def _handler(broker) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - `self` is the handler's here
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer("GET")

            def do_POST(self) -> None:
                self._answer("POST")

            def log_message(self, *_) -> None:
                pass

            def _answer(self, method: str) -> None:
                url = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                request = {"method": method, "path": url.path, "headers": self.headers, "body": body.decode()}
                request["params"] = parse_qs(url.query, keep_blank_values=True)
                request["form"] = parse_qs(body.decode(), keep_blank_values=True)
                broker.requests.append(request)
                status, headers, content = broker._reply(request)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        return Handler

    def _reply(self, request: dict) -> tuple[int, dict[str, str], bytes]:
        if self.replies:
            return self.replies.popleft()
        try:
            if request["path"] == "/rdf-graph-store":
                graph = request["params"].get("graph")
                where = f"GRAPH <{graph[0]}> {{ {request['body']} }}" if graph else request["body"]
                self.update(f"INSERT DATA {{ {where} }}")
            elif "update" in request["path"]:
                self.update(request["form"].get("update", [request["body"]])[0])
            else:
                text = (request["params"] | request["form"]).get("query", [request["body"]])[0]
                return 200, *self._answer(text, request["headers"]["Accept"])
        except SyntaxError as error:
            body = encode_failure(Failure("parsing failed", 400, str(error)))
            return 400, {"Content-Type": "application/json"}, body.encode()
        return 200, {"Content-Type": "application/json"}, json.dumps({"response": {}}).encode()

    def _answer(self, text: str, accept: str) -> tuple[dict[str, str], bytes]:
        with self.lock:
            found = self.store.query(text)
            if isinstance(found, QueryTriples):
                return {"Content-Type": "application/n-triples"}, found.serialize(format=RdfFormat.N_TRIPLES)
            format_ = QueryResultsFormat.TSV if "tab-separated" in accept else QueryResultsFormat.JSON
            return {"Content-Type": f"{format_.media_type}; charset=utf-8"}, found.serialize(format=format_)


@pytest.fixture
def fake():
    """A broker whose doings the test controls."""
    running = FakeBroker()
    yield running
    running.close()


@pytest.fixture
def profile(fake, tmp_path):
    """The path of a profile for the fake broker."""
    document = {
        "host": "127.0.0.1",
        "sparql11protocol": {
            "protocol": "http",
            "port": urlsplit(fake.http).port,
            "query": {"path": "/query", "method": "POST", "format": "JSON"},
            "update": {"path": "/update", "method": "URL_ENCODED_POST", "format": "JSON"},
        },
        "sparql11seprotocol": {
            "protocol": "ws",
            "reconnect": True,
            "availableProtocols": {"ws": {"port": urlsplit(fake.ws).port, "path": "/subscribe"}},
        },
        "namespaces": {"ex": "http://example.org/"},
        "updates": {
            "MEASURE": {
                "sparql": "INSERT DATA { ?sensor ex:value ?value }",
                "forcedBindings": {
                    "sensor": {"type": "uri", "value": "ex:one"},
                    "value": {"type": "literal", "datatype": "xsd:integer"},
                },
            },
            "ALARM": {
                "sparql": "INSERT DATA { ?sensor ex:alarm ?value }",
                "forcedBindings": {
                    "sensor": {"type": "uri"},
                    "value": {"type": "literal", "datatype": "xsd:integer"},
                },
            },
        },
        "queries": {
            "VALUES": {
                "sparql": "SELECT ?value { ?sensor ex:value ?value }",
                "forcedBindings": {"sensor": {"type": "uri", "value": "ex:one"}},
            },
            "ALL": {"sparql": "SELECT ?sensor ?value { ?sensor ex:value ?value }"},
        },
    }
    path = tmp_path / "sensors.jsap"
    path.write_text(json.dumps(document))
    return path
