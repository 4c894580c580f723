"""What a node and a tracker tell each other, as JSON: the node its whole status, the tracker its whole instructions.

::

    PUT /nodes/{node}
        {"instance","number","region","links_at","streams_at","capacity","carries":[..],
         "streams":{S:{"epoch","counter","neighbours":{node: rtt_ms|null},"consumers","publishes","key","proof"}}}
    200 {"epoch","heartbeat_s",
         "streams":{S:{"counter","neighbours":[{"node","links_at","ticket"}],"certificate","p99_ms","refused","nodes"}}}

Both are states and not changes, so one that is lost is made good by the next.  `epoch` and `counter` of a stream's status
are those of the newest instructions that the node has taken ("" and 0 before any).  `neighbours` are the nodes that it
has a link with now, with the round trip, 0 where that was not measured yet; and those that it was told to have one with
and can't reach, with null.  Whom it is still about to reach is not there.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from triplewire.broker.errors import MalformedRequest, ProtocolError
from triplewire.broker.stream_checks import is_stream_name

from .members import Members, is_node, is_number

if TYPE_CHECKING:
    from collections.abc import Mapping

LINK_SCHEMES = ("ws", "wss")
STREAM_SCHEMES = ("http", "https")
MOST_RTT_MS = 60_000.0
_MOST_TOKEN_CHARS = 8192
_KEY = re.compile(r"(?:[A-Za-z0-9_-]{43})?")  # 32 bytes, base64url
_PROOF_CHARS = 86  # 64 bytes
_PROOF = re.compile(rf"(?:[A-Za-z0-9_-]{{{_PROOF_CHARS}}})?")


@dataclass(frozen=True, slots=True)
class StatusLimits:
    """How much one message may say: streams, and neighbours in each."""

    streams: int = 1000
    neighbours: int = 64


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """What a node says of one stream that it is in: its links, and who follows and publishes there.

    `neighbours` have the round trip in ms, None where one can't be reached.  `key` is the Ed25519 public key of the
    node's own chain, 32 bytes in base64url, and `proof` a signature by it (see `parcels.prove`), 64 bytes; both are ""
    where it publishes nothing.
    """

    epoch: str = ""
    counter: int = 0
    neighbours: Mapping[str, float | None] = field(default_factory=dict)
    consumers: int = 0
    publishes: bool = False
    key: str = ""
    proof: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Status:
    """What a node says of itself.

    `instance` is another one each time that its process starts; `number` counts its statuses from 1, so that one that
    comes late changes nothing (0 where the node does not count).  `capacity` are the consumers that it wants at most.  `carries` names the streams that it would join once somebody follows
    there: consumers are sent to such a node where no other is in the stream.  `streams_at` is "" where it serves none.
    """

    node: str
    instance: str
    region: str
    links_at: str
    streams_at: str
    capacity: int
    streams: Mapping[str, StreamStatus]
    carries: tuple[str, ...] = ()
    number: int = 0

    def encode(self) -> bytes:
        """The body of PUT /nodes/{node}."""
        return _encoded(
            {
                "instance": self.instance,
                "number": self.number,
                "region": self.region,
                "links_at": self.links_at,
                "streams_at": self.streams_at,
                "capacity": self.capacity,
                "carries": list(self.carries),
                "streams": {
                    stream: {
                        "epoch": one.epoch,
                        "counter": one.counter,
                        "neighbours": dict(one.neighbours),
                        "consumers": one.consumers,
                        "publishes": one.publishes,
                        "key": one.key,
                        "proof": one.proof,
                    }
                    for stream, one in self.streams.items()
                },
            }
        )

    @classmethod
    def read(cls, node: str, body: bytes, limits: StatusLimits) -> Status:
        """What a node says; `node` is from the path.

        Raises:
            MalformedRequest: something of it is not of its kind; says where and what was expected.
        """
        if not is_node(node):
            raise MalformedRequest(f"{node!r:.80} is no node's id: 1 to 64 letters, digits, '_', '-', '.'")
        try:
            return cls._of(node, Members.of(body), limits)
        except ProtocolError as error:
            raise MalformedRequest(str(error)) from error

    @classmethod
    def _of(cls, node: str, members: Members, limits: StatusLimits) -> Status:
        instance = members.word("instance")
        if not instance:
            raise members.wrong("instance", "a word that is another one for each process")
        return cls(
            node=node,
            instance=instance,
            number=members.count("number", 0),
            region=members.text("region", ""),
            links_at=members.url("links_at", LINK_SCHEMES),
            streams_at=members.url("streams_at", STREAM_SCHEMES, empty=True),
            capacity=members.count("capacity"),
            carries=members.names("carries", limits.streams),
            streams={
                _stream(name): _stream_status(node, one, limits)
                for name, one in members.objects("streams", limits.streams)
            },
        )


def _stream(name: str) -> str:
    if not is_stream_name(name):
        raise ProtocolError(f"streams: {name!r:.80} is no name of a stream: letters, digits, '_', '-', '.'")
    return name


def _stream_status(node: str, members: Members, limits: StatusLimits) -> StreamStatus:
    key = members.word("key", "")
    if not _KEY.fullmatch(key):
        raise members.wrong(
            "key", "an Ed25519 public key: 32 bytes, base64url without padding, or an empty text"
        )
    proof = members.string("proof", _PROOF_CHARS, "")
    if not _PROOF.fullmatch(proof) or bool(proof) != bool(key):
        raise members.wrong(
            "proof", "an Ed25519 signature where there is a key: 64 bytes, base64url without padding"
        )
    neighbours = members.table("neighbours", limits.neighbours)
    for peer, rtt_ms in neighbours.items():
        if not is_node(peer) or peer == node:
            raise ProtocolError(f"{members.at('neighbours')}: {peer!r:.80} is no other node's id")
        if rtt_ms is not None and not is_number(rtt_ms, MOST_RTT_MS):
            raise ProtocolError(
                f"{members.at('neighbours')}.{peer}: expected null or a number of ms from 0 to {MOST_RTT_MS:g}"
            )
    return StreamStatus(
        epoch=members.word("epoch", ""),
        counter=members.count("counter", 0),
        neighbours=neighbours,
        consumers=members.count("consumers", 0),
        publishes=members.flag("publishes", default=False),
        key=key,
        proof=proof,
    )


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Whom to have a link with: where it takes links, and the ticket for the two."""

    node: str
    links_at: str
    ticket: str = field(repr=False)

    def document(self) -> dict[str, str]:
        """As JSON has it."""
        return {"node": self.node, "links_at": self.links_at, "ticket": self.ticket}

    @classmethod
    def read(cls, body: bytes | str) -> Neighbour:
        """A tracker's answer that names one node.

        Raises:
            ProtocolError: something of it is not of its kind; says where and what was expected.
        """
        return cls.of(Members.of(body))

    @classmethod
    def of(cls, members: Members) -> Neighbour:
        """Out of a larger document; raises ProtocolError."""
        return cls(
            members.node("node"),
            members.url("links_at", LINK_SCHEMES),
            members.string("ticket", _MOST_TOKEN_CHARS),
        )


@dataclass(frozen=True, slots=True)
class StreamInstructions:
    """The whole of what a node shall have in one stream.

    `certificate` is that of the node's chain ("" where it has none), `p99_ms` an estimate of how long an item takes to
    nearly all pairs of nodes (0 where nobody knows yet), `refused` why the node may not be in this stream ("" where
    it may), and `nodes` how many are in it: who has no neighbours may be the only one, or the one that nobody reaches.
    """

    counter: int
    neighbours: tuple[Neighbour, ...] = ()
    certificate: str = field(default="", repr=False)
    p99_ms: float = 0.0
    refused: str = ""
    nodes: int = 0


@dataclass(frozen=True, slots=True)
class Instructions:
    """What a tracker answers: for each stream of the status what the node shall have.

    A stream that the tracker has nothing to say of yet is not there: the node keeps the links that it has in it.
    """

    epoch: str
    heartbeat_s: float
    streams: Mapping[str, StreamInstructions]

    def encode(self) -> bytes:
        """The answer's body, and the data of a server-sent event: one line."""
        return _encoded(
            {
                "epoch": self.epoch,
                "heartbeat_s": self.heartbeat_s,
                "streams": {stream: _instructed(one) for stream, one in self.streams.items()},
            }
        )

    @classmethod
    def read(cls, body: bytes | str, limits: StatusLimits) -> Instructions:
        """What a tracker says.

        Raises:
            ProtocolError: something of it is not of its kind; says where and what was expected.
        """
        members = Members.of(body)
        return cls(
            epoch=members.word("epoch"),
            heartbeat_s=members.number("heartbeat_s", 3600.0),
            streams={
                _stream(name): _stream_instructions(one, limits)
                for name, one in members.objects("streams", limits.streams)
            },
        )


def _instructed(one: StreamInstructions) -> dict[str, Any]:
    return {
        "counter": one.counter,
        "neighbours": [each.document() for each in one.neighbours],
        "certificate": one.certificate,
        "p99_ms": one.p99_ms,
        "refused": one.refused,
        "nodes": one.nodes,
    }


def _stream_instructions(members: Members, limits: StatusLimits) -> StreamInstructions:
    return StreamInstructions(
        counter=members.count("counter"),
        neighbours=tuple(Neighbour.of(each) for each in members.listed("neighbours", limits.neighbours)),
        certificate=members.string("certificate", _MOST_TOKEN_CHARS),
        p99_ms=members.number("p99_ms", 1e6),
        refused=members.string("refused", 1000),
        nodes=members.count("nodes", 0),
    )


def _encoded(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
