"""The clients that are registered and what was revoked, in one SQLite file: `clients.db`.

What is asked with every token, whether it was revoked, is held in memory; everything else is read when a client logs
in.  A revocation is on the disk before it is answered.  The file is locked while the broker runs: another broker on it
would not hear of revocations.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from triplewire.broker.errors import ConfigError, EngineError, NotFound, Overloaded, Unauthorized

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NAME = "clients.db"
_VERSION = 1
_SCHEMA = """
CREATE TABLE clients (
    client_id TEXT PRIMARY KEY, identity TEXT NOT NULL, secret_hash TEXT NOT NULL,
    registered_at REAL NOT NULL, revoked_at REAL
) STRICT, WITHOUT ROWID;
CREATE TABLE revoked_tokens (jti TEXT PRIMARY KEY, expires REAL NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE revoked_before (client_id TEXT PRIMARY KEY, before REAL NOT NULL, expires REAL NOT NULL)
STRICT, WITHOUT ROWID;
PRAGMA user_version = 1;
"""
_SELECT = "SELECT client_id, identity, secret_hash, registered_at, revoked_at FROM clients"
# Beyond so many tokens, all that the client has are revoked at once, which is one entry.
_TOKENS = 100_000
_PURGE_S = 60.0
# What a token's life may have been before the setting was changed.
_LEAST_KEPT_S = 30 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Client:
    """One that is registered; times in seconds since the epoch."""

    client_id: str
    identity: str
    secret_hash: str = field(repr=False)
    registered_at: float
    revoked_at: float | None = None


class Clients:
    """The file.  Methods but `is_revoked` wait for the disk and are not for the event loop; any thread may call them."""

    def __init__(
        self,
        directory: Path,
        *,
        most: int = 100_000,
        longest_s: float = 3600.0,
        lock_s: float = 5.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`most` clients at once; no token lives longer than `longest_s`; `lock_s` another broker may take to end.

        Raises:
            ConfigError: the file can't be opened, is of a newer version, or another broker has it.
        """
        self._most = most
        self._kept_s = max(longest_s, _LEAST_KEPT_S)
        self._now = now
        self._lock = Lock()
        self._path = directory / NAME
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            # SQLite gives the files beside it the same mode.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._path.chmod(0o600)
            self._database = _opened(self._path, lock_s)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(f"security.directory: {self._path} can't be used: {error}") from error
        self._blocked: set[str] = set()
        self._tokens: dict[str, float] = {}
        self._before: dict[str, tuple[float, float]] = {}
        self._purge_at = 0.0
        try:
            self._read()
        except sqlite3.Error as error:
            self._database.close()
            raise ConfigError(f"security.directory: {self._path} can't be read: {error}") from error

    def _read(self) -> None:
        rows = self._database.execute("SELECT client_id FROM clients WHERE revoked_at IS NOT NULL")
        self._blocked = {client_id for (client_id,) in rows}
        self._tokens = dict(self._database.execute("SELECT jti, expires FROM revoked_tokens"))
        rows = self._database.execute("SELECT client_id, before, expires FROM revoked_before")
        self._before = {client_id: (before, expires) for client_id, before, expires in rows}

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._database.close()

    def is_revoked(self, client_id: str, jti: str, issued_at: float) -> bool:
        """Whether a token is not to be taken any more, whatever its signature says; costs three look-ups."""
        if client_id in self._blocked or jti in self._tokens:
            return True
        before = self._before.get(client_id)
        return before is not None and issued_at <= before[0]

    def find(self, client_id: str) -> Client | None:
        """One that may log in: None where it is not registered or was revoked."""
        found = self._one(client_id)
        return found if found is not None and found.revoked_at is None else None

    def _one(self, client_id: str) -> Client | None:
        with self._lock:
            return _one(self._database, client_id)

    def check(self, identity: str, *, again: bool = False) -> None:
        """Whether `add` would take the identity just now, without the price of a hash.

        Raises:
            Unauthorized: see `add`.
        """
        _check(self._one(identity), again=again)

    def add(self, identity: str, secret_hash: str, *, again: bool = False) -> None:
        """Register an identity, whose name is its client_id; `again` gives one that is registered another secret.

        Raises:
            Unauthorized: it is registered already, or was revoked; not_authorized_identity.
            Overloaded: there are as many clients as may be.
        """
        with self._writing() as database:
            known = _one(database, identity)
            _check(known, again=again)
            if known is None:
                self._check_room(database)
            database.execute(
                "INSERT OR REPLACE INTO clients VALUES (?, ?, ?, ?, NULL)",
                (identity, identity, secret_hash, self._now()),
            )

    def _check_room(self, database: sqlite3.Connection) -> None:
        (count,) = database.execute("SELECT count(*) FROM clients").fetchone()
        if count >= self._most:
            raise Overloaded(
                f"there are {count} clients, as many as may be registered (security.clients)",
                code="storing_credentials",
            )

    def page(self, after: str = "", limit: int = 1000) -> list[Client]:
        """Up to `limit` clients in the order of their ids, revoked ones as well."""
        with self._lock:
            rows = self._database.execute(
                f"{_SELECT} WHERE client_id > ? ORDER BY client_id LIMIT ?", (after, limit)
            ).fetchall()
        return [Client(*row) for row in rows]

    def revoke(self, client_id: str, *, readmit: bool = False) -> None:
        """None of its tokens is good any more, nor its secret; only with `readmit` may the identity register again.

        Raises:
            NotFound: there is no such client.
        """
        now = self._now()
        with self._writing() as database:
            if readmit:
                done = database.execute("DELETE FROM clients WHERE client_id = ?", (client_id,))
            else:
                done = database.execute(
                    "UPDATE clients SET revoked_at = coalesce(revoked_at, ?) WHERE client_id = ?",
                    (now, client_id),
                )
            if not done.rowcount:
                raise NotFound("no client of that id is registered here")
            self._note_before(database, client_id, now)
        self._before[client_id] = (now, now + self._kept_s)
        if readmit:
            self._blocked.discard(client_id)
        else:
            self._blocked.add(client_id)

    def revoke_token(self, client_id: str, jti: str, expires: float) -> None:
        """One token of a client is not good any more; it would have been until `expires`."""
        now = self._now()
        if expires <= now or jti in self._tokens:
            return
        with self._writing() as database:
            if now >= self._purge_at:
                self._purge(database, now)
            one = len(self._tokens) < _TOKENS
            if one:
                database.execute("INSERT OR REPLACE INTO revoked_tokens VALUES (?, ?)", (jti, expires))
            else:
                self._note_before(database, client_id, now)
        if one:
            self._tokens[jti] = expires
        else:
            self._before[client_id] = (now, now + self._kept_s)

    def _note_before(self, database: sqlite3.Connection, client_id: str, now: float) -> None:
        database.execute(
            "INSERT OR REPLACE INTO revoked_before VALUES (?, ?, ?)", (client_id, now, now + self._kept_s)
        )

    def _purge(self, database: sqlite3.Connection, now: float) -> None:
        """What no token outlives need not be kept."""
        database.execute("DELETE FROM revoked_tokens WHERE expires <= ?", (now,))
        database.execute("DELETE FROM revoked_before WHERE expires <= ?", (now,))
        self._purge_at = now + _PURGE_S
        # New dicts: `is_revoked` may look at the old ones on another thread.
        self._tokens = {jti: expires for jti, expires in self._tokens.items() if expires > now}
        self._before = {client: entry for client, entry in self._before.items() if entry[1] > now}

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing, and on the disk afterwards.

        Raises:
            EngineError: the disk is full, or the file is damaged.
        """
        try:
            with self._lock, self._database:
                self._database.execute("BEGIN IMMEDIATE")
                yield self._database
        except sqlite3.Error as error:
            raise EngineError("the clients can't be stored", code="storing_credentials") from error


def _opened(path: Path, lock_s: float) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=lock_s, isolation_level=None, check_same_thread=False)
    try:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA secure_delete = ON")
        database.execute("BEGIN EXCLUSIVE")
        database.execute("COMMIT")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        _check_version(path, version)
        if version < _VERSION:
            database.executescript(f"BEGIN;{_SCHEMA}COMMIT;")
    except BaseException:
        database.close()
        raise
    return database


def _check_version(path: Path, version: int) -> None:
    if version > _VERSION:
        raise ConfigError(
            f"security.directory: {path} is of version {version}, written by a newer broker; this one"
            f" reads up to {_VERSION}"
        )


def _one(database: sqlite3.Connection, client_id: str) -> Client | None:
    row = database.execute(f"{_SELECT} WHERE client_id = ?", (client_id,)).fetchone()
    return None if row is None else Client(*row)


def _check(known: Client | None, *, again: bool) -> None:
    if known is not None and (known.revoked_at is not None or not again):
        raise Unauthorized("the identity may not register", code="not_authorized_identity")
