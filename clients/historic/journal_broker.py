"""The journal of a running broker elsewhere, asked for as its followers do (gates/journal)."""

from __future__ import annotations

import contextlib
import json
import zlib
from typing import TYPE_CHECKING, Final

import httpx

from triplewire.broker.errors import ClientError
from triplewire.broker.journal.feed import Beat, FeedParser, SnapshotHead, record_of
from triplewire.broker.journal.quad_lines import WRITER, rewritten
from triplewire.clients.trust import tls_context

from .journal_place import Beginning, JournalGap, OriginAway, OriginError, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triplewire.broker.journal.feed import Item
    from triplewire.broker.journal.record import Record
    from triplewire.clients.authorization import TokenSource
    from triplewire.clients.settings import ClientSettings

RECORD_BYTES: Final = 1024 * 1024 * 1024  # a change larger than this is none
SILENCE_S: Final = 15.0  # beats come each second
_PASSING: Final = frozenset({429, 500, 502, 503, 504})
_EPOCH, _WRITER = "Triplewire-Epoch", "Triplewire-Writer"
_GZIP: Final = 31


class JournalBroker:
    """An `Origin` behind HTTP: needs the scope admin where the broker is secure, and one of its journal.followers."""

    def __init__(self, url: str, tokens: TokenSource, settings: ClientSettings) -> None:
        self._base = url.rstrip("/")
        self._tokens = tokens
        self._settings = settings

    def beginning(self) -> Beginning:
        """See `Origin`."""
        head = self._head()
        with self._client() as client:
            try:
                state = client.get(f"{self._base}/health").json()
            except (httpx.HTTPError, ValueError) as error:
                raise self._unreachable(error) from error
        journal = state.get("journal", {})
        first = min(int(journal.get("first_sequence", head.sequence + 1)), head.sequence + 1)
        place = Place(first - 1, head.epoch)
        time_ms, until = self._told(place)
        # Without a snapshot the broker tells of an empty one before record 1.
        snapshot = head.sequence if head.sequence or head.quads else None
        return Beginning(place, time_ms, snapshot, until)

    def _told(self, after: Place) -> tuple[int, int]:
        """The time of the first record behind a place, that of now where there is none; and the last one told of."""
        time_ms: int | None = None
        for item in self._items(after):
            if time_ms is None:
                time_ms = item.time_ms
            if isinstance(item, Beat):
                return time_ms, item.sequence
        raise OriginAway(f"{self._base}: the broker ended the connection")

    def end(self, after: Place, most_bytes: int) -> Place:
        """See `Origin`; what is between is fetched to see where it ends, and again to be read."""
        last, size = after.sequence, 0
        with self._stream(after) as (response, items):
            epoch = response.headers.get(_EPOCH, "")
            for item in items:
                if isinstance(item, Beat):
                    break
                last = item.sequence
                size += len(item.payload)
                if size >= most_bytes:
                    break
        return Place(last, epoch) if last > after.sequence else after

    def settle(self) -> None:
        """See `Origin`: a broker tells of settled records only."""

    def pieces(self, after: Place, upto: int) -> list[tuple[Place, int]]:
        """See `Origin`: all in one, as there are few places for followers."""
        return [(after, upto)] if after.sequence < upto else []

    def records(self, after: Place, upto: int) -> Iterator[Record]:
        """See `Origin`."""
        if after.sequence >= upto:
            return
        with self._stream(after) as (response, items):
            writer = response.headers.get(_WRITER, WRITER)
            for item in items:
                if isinstance(item, Beat):
                    continue
                yield record_of(item, writer)
                if item.sequence >= upto:
                    return
        raise OriginAway(f"{self._base}: the broker ended the connection before record {upto}")

    def snapshot_parts(self, snapshot: int) -> list[str]:
        """See `Origin`: it comes in one stream."""
        return [str(snapshot)]

    def snapshot_texts(self, snapshot: int, part: str) -> Iterator[bytes]:  # noqa: ARG002 - there is one part
        """See `Origin`."""
        with self._snapshot() as (head, texts):
            if head.sequence != snapshot:
                raise JournalGap(
                    f"{self._base}: snapshot {snapshot} has been replaced by {head.sequence}: try again"
                )
            quads = 0
            for text in texts:
                yield text if head.writer == WRITER else rewritten(text)
                quads += text.count(b"\n")
            if quads != head.quads:
                raise OriginError(f"{self._base}: {quads} quads came of {head.quads} of the snapshot")

    def _head(self) -> SnapshotHead:
        with self._snapshot() as (head, _):
            return head

    @contextlib.contextmanager
    def _snapshot(self) -> Iterator[tuple[SnapshotHead, Iterator[bytes]]]:
        with self._answer("/journal/snapshot", {}) as response:
            texts = _whole_lines(response.iter_raw())
            try:
                content = json.loads(next(texts))
                head = SnapshotHead(**{**content, "graphs": tuple(content["graphs"])})
            except (StopIteration, ValueError, KeyError, TypeError) as error:
                raise OriginError(f"{self._base}: what came is no snapshot: {error!r:.200}") from error
            yield head, texts

    def _items(self, after: Place) -> Iterator[Item]:
        with self._stream(after) as (_, items):
            yield from items

    @contextlib.contextmanager
    def _stream(self, after: Place) -> Iterator[tuple[httpx.Response, Iterator[Item]]]:
        parameters = {"epoch": after.epoch, "after": str(after.sequence)}
        with self._answer("/journal", parameters) as response:
            yield response, self._parsed(response)

    def _parsed(self, response: httpx.Response) -> Iterator[Item]:
        parser = FeedParser(RECORD_BYTES)
        try:
            for data in response.iter_raw():
                yield from parser.feed(data)
        except (ValueError, SyntaxError) as error:
            raise OriginError(
                f"{self._base}: the broker's bytes are not to be understood: {error}"
            ) from error

    @contextlib.contextmanager
    def _answer(self, path: str, parameters: dict[str, str]) -> Iterator[httpx.Response]:
        with self._client() as client:
            try:
                with client.stream("GET", f"{self._base}{path}", params=parameters) as response:
                    if response.status_code == httpx.codes.GONE:
                        raise JournalGap(f"{self._base}: {_reason(response)}: begin a new archive")
                    if not response.is_success:
                        kind = OriginAway if response.status_code in _PASSING else OriginError
                        raise kind(f"{self._base}{path}: {response.status_code} {_reason(response)}")
                    yield response
            except httpx.HTTPError as error:
                raise self._unreachable(error) from error

    def _client(self) -> httpx.Client:
        timeout = httpx.Timeout(self._settings.timeout_s, read=max(SILENCE_S, self._settings.timeout_s))
        auth = _Bearer(self._tokens, self._base)
        return httpx.Client(timeout=timeout, verify=tls_context(self._settings), auth=auth)

    def _unreachable(self, error: Exception) -> OriginAway:
        return OriginAway(f"{self._base}: the connection broke: {error!r:.200}")


class _Bearer(httpx.Auth):
    """Sends a token where there is one, and once another one where the broker did not take it."""

    def __init__(self, tokens: TokenSource, base: str) -> None:
        self._tokens = tokens
        self._base = base

    def sync_auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
        try:
            token = self._tokens.token()
            if token.text is None:
                yield request
                return
            request.headers["Authorization"] = f"Bearer {token.text}"
            response: httpx.Response = yield request  # type: ignore[assignment]
            if response.status_code == httpx.codes.UNAUTHORIZED:
                other = self._tokens.token(token.text)
                request.headers["Authorization"] = f"Bearer {other.text}"
                yield request
        except ClientError as error:
            raise OriginError(f"{self._base}: there is no token for it: {error}") from error


def _reason(response: httpx.Response) -> str:
    body = response.read()[:300]
    try:
        return str(json.loads(body)["error_description"])
    except (ValueError, KeyError, TypeError):
        return body.decode("utf-8", "replace")


def _whole_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Members of gzip one after another, unpacked, in pieces that end with a line's end."""
    inflate = zlib.decompressobj(_GZIP)
    rest = b""
    for chunk in chunks:
        data = chunk
        while data:
            try:
                text = rest + inflate.decompress(data)
            except zlib.error as error:
                raise OriginError(f"what came is no snapshot: {error}") from error
            data = inflate.unused_data
            if inflate.eof:
                inflate = zlib.decompressobj(_GZIP)
            end = text.rfind(b"\n") + 1
            rest = text[end:]
            if end:
                yield text[:end]
    if rest:
        raise OriginError("the snapshot is cut off")
