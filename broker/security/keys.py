"""The keys that sign this broker's tokens: a folder of PEM files, one of them current.

A key's file is called by when it was made, in milliseconds since the epoch, and its kid.  The newest signs; each older
one verifies until the tokens that it signed have expired, which is `token_s` after the next one was made, and is then
deleted.  Who makes or deletes holds the folder's lock, and files appear whole, so that several brokers may have one
folder: each reads it again when it meets a kid that it does not know.  Tokens are signed on one thread and checked on
another; the keys are a tuple that is replaced as a whole, by one at a time.
"""

from __future__ import annotations

import fcntl
import itertools
import logging
import math
import os
import re
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from triplewire.broker.errors import ConfigError, TooManyRequests

from .signing_key import SigningKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from triplewire.broker.config import SecurityConfig

_log = logging.getLogger("triplewire.broker.security")

_MOST = 16  # keys at a time: whoever may rotate can't fill the disk, nor make the answer of `jwks` large
_LOOK_S = 1.0  # kids that nobody knows cost a look into the folder as often as this
_RETRY_S = 60.0  # a key that could not be written is tried again after this
_NAME = re.compile(r"([0-9]{1,15})-([A-Za-z0-9_-]{43})\.pem")


class Keys:
    """The signing keys in `directory`/keys; `now` gives seconds since the epoch."""

    def __init__(self, directory: Path, config: SecurityConfig, now: Callable[[], float] = time.time) -> None:
        """Reads the keys, or makes the first.

        Raises:
            ConfigError: a file is no key, or the folder can't be written.
        """
        self._config = config
        self._now = now
        self._folder = directory / "keys"
        self._keys: tuple[SigningKey, ...] = ()  # by age, replaced as a whole
        self._replacing = threading.RLock()
        self._looked = -math.inf
        self._retry = -math.inf
        try:
            _keep_private(directory)
            _keep_private(self._folder)
            with self._locked():
                self._read()
                if not self._keys or self._keys[-1].algorithm != config.algorithm:
                    self._add()
                self._prune()
        except OSError as error:
            raise ConfigError(f"security.directory: the keys can't be kept: {error}") from error

    @property
    def current(self) -> SigningKey:
        """The key that signs; followed by a new one after security.key_s."""
        newest, now = self._keys[-1], self._now()
        if 0 < self._config.key_s <= now - newest.created and now >= self._retry:
            self._succeed(newest)
        self._prune()
        return self._keys[-1]

    def find(self, kid: str) -> SigningKey | None:
        """The key of a token's header, while tokens may still be signed by it."""
        found = self._among(kid)
        if found is None and not 0 <= self._now() - self._looked < _LOOK_S:
            try:
                with self._replacing:
                    self._read()
            except (OSError, ConfigError):
                _log.exception("the signing keys could not be read again")
            found = self._among(kid)
        return found

    def rotate(self) -> SigningKey:
        """Have a new key sign from now on; the old ones still verify what they have signed.

        Raises:
            TooManyRequests: there are too many keys that tokens may still be signed by.
            OSError: it could not be written; the old one goes on.
        """
        with self._locked():
            self._read()
            self._prune()
            if len(self._keys) >= _MOST:
                raise TooManyRequests(f"{_MOST} keys are still in use: wait until tokens have expired")
            return self._add()

    def jwks(self) -> dict[str, list[dict[str, str]]]:
        """The public keys that tokens may be signed by, the current one first: a JWK Set (RFC 7517, 5)."""
        self._prune()
        return {"keys": [key.jwk() for key in reversed(self._keys)]}

    def for_sepa(self) -> dict[str, str]:
        """The current public key as SEPA's answer to a registration has it: kty, kid, and e and n or crv, x and y."""
        return {name: value for name, value in self.current.jwk().items() if name not in {"use", "alg"}}

    def _among(self, kid: str) -> SigningKey | None:
        return next((key for key in self._in_use() if key.kid == kid), None)

    def _in_use(self) -> tuple[SigningKey, ...]:
        """Those whose tokens can't all have expired."""
        ends = self._now() - self._config.token_s
        pairs = itertools.pairwise(self._keys)
        return (*(key for key, following in pairs if following.created > ends), *self._keys[-1:])

    def _succeed(self, old: SigningKey) -> None:
        try:
            with self._locked():
                self._read()
                self._prune()
                if self._keys[-1].kid == old.kid and len(self._keys) < _MOST:  # nobody else has
                    self._add()
        except (OSError, ConfigError):
            self._retry = self._now() + _RETRY_S
            _log.exception("a new signing key could not be kept: the old one goes on")

    def _read(self) -> None:
        self._looked = self._now()
        known = {key.kid: key for key in self._keys}
        keys = []
        for path in self._folder.iterdir():
            if (name := _NAME.fullmatch(path.name)) is None:
                continue
            try:
                keys.append(known.get(name[2]) or _load(path, int(name[1]) / 1000))
            except FileNotFoundError:  # another broker has just deleted it
                continue
        if keys or not self._keys:  # a folder that was emptied under us does not stop the signing
            self._keys = tuple(sorted(keys, key=lambda key: key.created))

    def _add(self) -> SigningKey:
        created = math.floor(self._now() * 1000)
        if self._keys:  # whatever the clock says, it is newer than all others
            created = max(created, round(self._keys[-1].created * 1000) + 1)
        key = SigningKey.make(self._config.algorithm, created / 1000)
        _write(self._folder / _name(key), key.pem())
        self._keys = (*self._keys, key)
        _log.info("= a new signing key: %s, %s", key.kid, key.algorithm)
        return key

    def _prune(self) -> None:
        if len(self._in_use()) == len(self._keys):
            return
        with self._replacing:
            kept = self._in_use()
            for key in self._keys:
                if key not in kept:
                    self._delete(key)
            self._keys = kept

    def _delete(self, key: SigningKey) -> None:
        try:
            (self._folder / _name(key)).unlink(missing_ok=True)
        except OSError:
            _log.exception("the signing key %s is of no more use, and can't be deleted", key.kid)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Neither another thread nor another broker makes or deletes keys meanwhile."""
        with self._replacing:
            fd = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
                yield
            finally:
                os.close(fd)


def _name(key: SigningKey) -> str:
    return f"{round(key.created * 1000)}-{key.kid}.pem"


def _keep_private(path: Path) -> None:
    """Makes a folder that only its owner may enter, or makes it one; and says so."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    _tighten(path, 0o700)


def _tighten(path: Path, mode: int) -> None:
    if path.stat().st_mode & 0o077:
        path.chmod(mode)
        _log.warning("%s was open to others: now it is not", path)


def _load(path: Path, created: float) -> SigningKey:
    _tighten(path, 0o600)
    try:
        return SigningKey.from_pem(path.read_bytes(), created)
    except ValueError as error:
        raise ConfigError(f"{path} is no signing key: {error}") from error


def _write(path: Path, content: bytes) -> None:
    """A file that is there whole or not at all, also after a loss of power."""
    beside = path.with_suffix(".new")
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
