"""What a client knows of itself - its id, secret and token - kept in a file that nobody else can read.

One file holds those of many identities at many brokers, by the URL where their tokens come from.  It is replaced as a
whole, so a reader never sees half of it; writers wait for each other.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplewire.broker.errors import ClientError

from .private_file import replace_file

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Some thousands of identities; beyond that it is no file of ours.
_LARGEST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Credentials:
    """A registered identity; `expires_at` is in seconds since the epoch, None where the token's end is not known."""

    identity: str
    client_id: str
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    expires_at: float | None = None


def default_file(environment: Mapping[str, str] = os.environ) -> Path:
    """`triplewire/credentials.json` in the user's configuration directory (XDG Base Directory Specification)."""
    home = environment.get("XDG_CONFIG_HOME", "")
    base = Path(home) if Path(home).is_absolute() else Path("~/.config").expanduser()
    return base / "triplewire" / "credentials.json"


class CredentialsFile:
    """A file of credentials with mode 600.

    All methods raise ClientError where others can read the file, or it is not one of ours, and OSError.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(os.path.realpath(path if path is not None else default_file()))

    def read(self, token_url: str, identity: str) -> Credentials | None:
        """What is known of an identity at a broker."""
        found = self._all().get(token_url, {}).get(identity)
        return None if found is None else self._credentials(identity, found)

    def identities(self, token_url: str) -> list[str]:
        """Those that are known at a broker."""
        return sorted(self._all().get(token_url, {}))

    def keep(self, token_url: str, credentials: Credentials) -> None:
        """Put them in, in the place of those of the same identity at the same broker."""
        body = {
            "client_id": credentials.client_id,
            "client_secret": credentials.secret,
            "access_token": credentials.token,
            "expires_at": credentials.expires_at,
        }
        with self._changing() as everything:
            everything.setdefault(token_url, {})[credentials.identity] = body

    def forget(self, token_url: str, identity: str) -> bool:
        """Take them out; False where there were none."""
        with self._changing() as everything:
            known = everything.get(token_url, {})
            found = known.pop(identity, None) is not None
            if not known:
                everything.pop(token_url, None)
        return found

    def _credentials(self, identity: str, found: Any) -> Credentials:
        try:
            token, expires_at = found["access_token"], found["expires_at"]
            return Credentials(
                identity,
                str(found["client_id"]),
                str(found["client_secret"]),
                None if token is None else str(token),
                None if expires_at is None else float(expires_at),
            )
        except (KeyError, TypeError, ValueError):
            # Without its cause, which could tell what is in there.
            raise ClientError(f"{self.path}: what is there of {identity!r} is not complete") from None

    def _all(self) -> dict[str, dict[str, Any]]:
        try:
            descriptor = os.open(self.path, os.O_RDONLY)
        except FileNotFoundError:
            return {}
        with open(descriptor, "rb") as file:  # noqa: PTH123 - of the descriptor, so that what is checked is what is read
            mode = os.fstat(descriptor).st_mode
            if sys.platform != "win32" and stat.S_IMODE(mode) & 0o077:
                raise ClientError(
                    f"{self.path}: others can use it (mode {stat.S_IMODE(mode):o}), and secrets are in it; "
                    f"change them where they may have been read, and then: chmod 600 {self.path}"
                )
            text = file.read(_LARGEST_BYTES + 1)
        try:
            document = json.loads(text) if len(text) <= _LARGEST_BYTES else None
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict) or not all(isinstance(known, dict) for known in document.values()):
            raise ClientError(
                f"{self.path}: expected a JSON object of token URLs; it is no file of credentials"
            )
        return document

    @contextmanager
    def _changing(self) -> Iterator[dict[str, dict[str, Any]]]:
        """The content, to be changed; written when that has been done without an error."""
        folder = self.path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(folder):
            everything = self._all()
            yield everything
            replace_file(self.path, json.dumps(everything, indent=1), synced=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Nobody else changes what is in the folder; at the end all that was done there outlives a loss of power."""
    if sys.platform == "win32":  # it has neither locks nor syncs for folders
        yield
        return
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
        # A secret is told only once.
        os.fsync(lock)
    finally:
        os.close(lock)
