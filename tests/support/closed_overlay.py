"""A closed broker with a registry of streams, and trackers that take its tokens, in processes of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

from triplewire.gates.relay.statuses import StreamStatus

from .running_tracker import RunningTracker
from .secured import SecuredBroker
from .simulated_nodes import a_status, publishes

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

ISSUER = "https://broker.example:8443"
GRAPH = "urn:triplewire:registry"
PREFIXES = "PREFIX tw: <urn:triplewire:> PREFIX dct: <http://purl.org/dc/terms/> "
PERMISSIONS = f"""
[clients.relay]
scopes = ["subscribe", "publish"]
follow = ["news", "traffic"]

[clients.other]
scopes = ["subscribe", "publish"]

[clients.another]
scopes = ["subscribe", "publish"]

[clients.sensor]
scopes = ["publish"]

[clients.reader]
scopes = ["subscribe"]
follow = ["news"]

[clients.admin]
scopes = ["admin"]

[clients.keeper]
scopes = ["query", "update"]
read = ["{GRAPH}"]
write = ["{GRAPH}"]

[clients.tracker]
scopes = ["subscribe"]
read = ["{GRAPH}"]
"""
REGISTERED = f"""{PREFIXES} INSERT DATA {{ GRAPH <{GRAPH}> {{
  <urn:s:news> dct:identifier "news" ; dct:title "News" ; tw:mayPublish "relay" ; tw:tracker (<http://one> <http://two>) .
  <urn:s:traffic> dct:identifier "traffic" ; tw:mayPublish "*" .
  <urn:s:weather> dct:identifier "weather" ; tw:mayPublish "other" .
}} }}"""


class ClosedSite:
    """The broker, and a client of the tracker."""

    def __init__(self, stack: ExitStack, directory: Path) -> None:
        directory.mkdir()
        settings = (f"security.issuer={ISSUER}", f"store.data={directory / 'data'}")
        self.directory = directory
        self.stack = stack
        self.broker = stack.enter_context(SecuredBroker(directory, *settings, permissions=PERMISSIONS))
        assert self.broker.update(REGISTERED, self.broker.headers("keeper")).status_code == 200
        self.tracker = self.started()
        self.http = stack.enter_context(httpx.Client(base_url=self.tracker.http, timeout=20))

    def started(self, *settings: str) -> RunningTracker:
        """A tracker that takes the broker's tokens, has its permissions and follows its registry."""
        given = (
            "security.enabled=true",
            f"security.provider={ISSUER}",
            f"security.provider_jwks={self.broker.running.https}/oauth/jwks",
            f"security.provider_ca={self.broker.authority.ca}",
            f"security.permissions={self.broker.permissions}",
            f"tracker.registry={self.broker.running.https}",
            "tracker.identity=tracker",
            f"tracker.credentials={self.directory / 'credentials.json'}",
            f"tracker.ca={self.broker.authority.ca}",
            "tracker.unregistered=refuse",
            "tracker.collect_s=0",
            "tracker.heartbeat_s=60",
            "tracker.silent_s=600",
            *settings,
        )
        running = RunningTracker.start(*(part for setting in given for part in ("--set", setting)))
        self.stack.callback(running.stop)
        return running

    def ask(self, method: str, path: str, client: str | None = None, **more: Any) -> httpx.Response:
        """Ask the tracker, as one of the broker's clients or as a stranger."""
        headers = self.broker.headers(client) if client else {}
        return self.http.request(method, path, headers=headers | more.pop("headers", {}), **more)

    def put(self, node: str, client: str, *streams: str, is_publisher: bool = False) -> httpx.Response:
        """A node's status."""
        said = publishes(node, *streams) if is_publisher else dict.fromkeys(streams, StreamStatus())
        headers = self.broker.headers(client) | {"Content-Type": "application/json"}
        body = a_status(node, streams=said).encode()
        return self.http.put(f"/nodes/{node}", content=body, headers=headers)
