"""The certificate of the HTTPS and WSS ports, which can be changed while they are open."""

from __future__ import annotations

import logging
import ssl
from typing import TYPE_CHECKING

from triplewire.broker.errors import ConfigError

if TYPE_CHECKING:
    from triplewire.broker.config import TlsConfig

log = logging.getLogger("triplewire.gates.tls")


class Certificate:
    """One `context` for all listeners; what it answers a new handshake with is the newest certificate that was good."""

    def __init__(self, config: TlsConfig) -> None:
        """Reads the files.

        Raises:
            ConfigError: they are not a certificate and its key.
        """
        self.config = config
        self._newest = _context(config)
        self.context = _context(config)
        # A context that is in use can't take another certificate and key in one step, but each handshake can be given
        # another context; OpenSSL asks for it also where the client names no server.
        self.context.sni_callback = self._choose

    def reread(self) -> bool:
        """Read the files again; whether new connections get what is in them now.

        If they are wrong, that is logged, and the old ones stay.  Connections that are open go on as they are.
        """
        try:
            self._newest = _context(self.config)
        except ConfigError as error:
            log.error("! the certificate stays as it was: %s", error)  # noqa: TRY400 - its words tell it all
            return False
        log.info("= the certificate is that of %s", self.config.certificate)
        return True

    def _choose(
        self,
        connection: ssl.SSLSocket | ssl.SSLObject,
        name: str | None,  # noqa: ARG002 - all names have one certificate
        context: ssl.SSLContext,  # noqa: ARG002 - the callback's own form
    ) -> None:
        connection.context = self._newest


def _context(config: TlsConfig) -> ssl.SSLContext:
    """TLS 1.2 and 1.3 with the ciphers of Python (RFC 9325, 3.1 and 4.2)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(config.certificate, config.key, password=_no_password)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        what = f"tls.certificate {config.certificate!r} and tls.key {config.key!r}"
        raise ConfigError(f"{what} are not a certificate and its key in PEM: {error}") from error
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted; a broker that starts by itself can't be asked for a password")
