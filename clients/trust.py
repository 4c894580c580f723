"""TLS from the client's side: which certificates are believed."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from triplewire.broker.errors import ClientError

if TYPE_CHECKING:
    from .settings import ClientSettings


def tls_context(settings: ClientSettings) -> ssl.SSLContext:
    """The context for HTTPS and WSS alike: TLS 1.2 or newer, and the system's authorities or those of `ca_file` alone.

    Raises:
        ClientError: `ca_file` can't be read, or there is no certificate in it.
    """
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
    except OSError as error:  # ssl's own errors are some of these, and none of them says which file
        raise ClientError(
            f"{settings.ca_file}: expected a PEM file of certificates ({error.strerror or error})"
        ) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not settings.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
