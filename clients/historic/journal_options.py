"""Where a journal is, as the options of a Spark source: texts, as Spark has no other.

`data` is a broker's directory; or `url` is a running broker, with `token`, `token_file` (read anew each time) or
`identity` (registered at first, kept in `credentials`) where it is secure, `ca`, and `insecure`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from triplewire.clients.addresses import Addresses
from triplewire.clients.authorization import source_of
from triplewire.clients.client_credentials import ClientCredentials
from triplewire.clients.settings import ClientSettings

from .journal_broker import JournalBroker
from .journal_directory import JournalDirectory
from .journal_place import OriginError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triplewire.clients.authorization import Authorization

    from .journal_place import Origin

_NAMES: Final = frozenset({"data", "url", "token", "token_file", "identity", "credentials", "ca", "insecure"})


@dataclass(frozen=True, slots=True)
class JournalOptions:
    """Which journal, and how whoever reads it proves who it is."""

    data: str = ""
    url: str = ""
    token: str = field(default="", repr=False)
    token_file: str = ""
    identity: str = ""
    credentials: str = ""
    ca: str = ""
    insecure: bool = False

    @classmethod
    def of(cls, options: Mapping[str, str]) -> JournalOptions:
        """The options of a source; Spark may have made their names lower case, and others may be among them.

        Raises:
            OriginError: there is no journal named, or two.
        """
        given = {name.lower(): value for name, value in options.items() if name.lower() in _NAMES}
        insecure = given.pop("insecure", "false") == "true"
        made = cls(**given, insecure=insecure)
        if bool(made.data) == bool(made.url):
            raise OriginError("the journal's source needs one of `data` and `url`")
        return made

    def texts(self) -> dict[str, str]:
        """The same as options of a source."""
        values = {name: str(getattr(self, name)) for name in sorted(_NAMES - {"insecure"})}
        return {name: value for name, value in values.items() if value} | {
            "insecure": "true" if self.insecure else "false"
        }

    def origin(self) -> Origin:
        """The journal itself."""
        if self.data:
            return JournalDirectory(Path(self.data))
        settings = ClientSettings(ca_file=self.ca or None, verify=not self.insecure)
        return JournalBroker(self.url, source_of(self._authorization(settings)), settings)

    def _authorization(self, settings: ClientSettings) -> Authorization | None:
        if self.token_file:
            return lambda: _first_line(self.token_file)
        if self.token:
            return lambda: self.token
        if not self.identity:
            return None
        at = Addresses.of(self.url)
        return ClientCredentials(
            self.identity, at.register, at.token, file=self.credentials or None, settings=settings
        )


def _first_line(path: str) -> str:
    try:
        with Path(path).open(encoding="utf-8") as lines:
            return lines.readline(65_536).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise OriginError(f"{path}: no token can be read: {error}") from error
