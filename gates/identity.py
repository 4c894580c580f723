"""Who this process is at another server, as its settings say it: `identity`, `credentials` and `ca`, in several sections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from triplewire.clients.client_credentials import ClientCredentials
from triplewire.clients.settings import ClientSettings

if TYPE_CHECKING:
    from triplewire.broker.config import PathsConfig
    from triplewire.clients.authorization import TokenSource


class Identified(Protocol):
    """A section of the configuration that has these settings."""

    @property
    def identity(self) -> str:
        """The name of a client; "" is nobody in particular."""

    @property
    def credentials(self) -> str:
        """The file that keeps its secret and its token; "" keeps them nowhere."""

    @property
    def ca(self) -> str:
        """PEM, the authorities that the server's certificate may be of; "" are the system's."""


def tokens_at(
    login: str, config: Identified, paths: PathsConfig, settings: ClientSettings | None = None
) -> TokenSource | None:
    """The tokens of this process, by its login at the HTTP port `login`; None where it is nobody in particular."""
    if not config.identity:
        return None
    base = login.rstrip("/")
    return ClientCredentials(
        config.identity,
        f"{base}{paths.register}",
        f"{base}{paths.token}",
        file=config.credentials or None,
        settings=settings or ClientSettings(ca_file=config.ca or None),
    )
