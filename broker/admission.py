"""Who may come in: the parts of security, put together as the settings have it."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from triplewire.gates.oauth.grants import Grants
from triplewire.gates.oauth.routes import oauth_routes
from triplewire.gates.oauth.server import AuthorizationServer, Parts

from .security.attempts import Attempts
from .security.authority import Nobody
from .security.clients import Clients
from .security.guarded import Guarded
from .security.keys import Keys
from .security.permissions import Permissions
from .security.provider import Provider
from .security.registration import Registration
from .security.secrets import Secrets
from .security.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fastapi import APIRouter

    from .config import Config
    from .security.authority import Authority

# Whatever is below this, whoever serves it: metadata for those who have no token yet (RFC 8615).
_WELL_KNOWN = "/.well-known/"


@dataclass(frozen=True, slots=True)
class Admission:
    """Judges tokens by the `authority`; `routes` are those of the authorization server, `open_paths` need no token.

    `reread` reads the permissions again, and says whether they are now the file's.
    """

    authority: Authority = field(default_factory=Nobody)
    routes: tuple[APIRouter, ...] = ()
    open_paths: frozenset[str] = frozenset()
    reread: Callable[[], bool] = lambda: True


@contextlib.contextmanager
def admission(config: Config) -> Iterator[Admission]:
    """What the settings under [security] come to, until the block ends.

    Raises:
        ConfigError: they can't be followed.
    """
    security = config.security
    if not security.enabled:
        yield Admission()
        return
    with contextlib.ExitStack() as stack:
        directory = _directory(config)
        is_server = directory is not None
        if directory is None:
            # With a provider alone nobody registers and no token is made here: what can't be missing is not kept
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="triplewire-")))
        yield _assembled(config, directory, stack, is_server=is_server)


def _directory(config: Config) -> Path | None:
    if config.security.directory:
        return Path(config.security.directory)
    return Path(config.store.data) if config.store.data else None


def _assembled(config: Config, directory: Path, stack: contextlib.ExitStack, *, is_server: bool) -> Admission:
    security = config.security
    permissions = Permissions(Path(security.permissions) if security.permissions else None)
    clients = Clients(directory, longest_s=security.token_s, most=security.clients)
    stack.callback(clients.close)
    keys = Keys(directory, security)
    tokens = Tokens(keys, _issuer(config), security.audience)
    provider = Provider(security) if security.provider else None
    guarded = Guarded(tokens, permissions, clients, provider, most=security.tokens_known)
    if not is_server:
        return Admission(guarded, reread=guarded.reread)
    registration = Registration(security, permissions)
    server = AuthorizationServer(
        Parts(
            clients=clients,
            secrets=Secrets(security.secret_kib, security.secret_rounds),
            registration=registration,
            attempts=Attempts(security.attempts),
            grants=Grants(security, registration, tokens, clients),
            tokens=tokens,
            keys=keys,
            changed=guarded.changed,
            issuer=tokens.issuer,
            longest_s=security.token_s,
            body_timeout_s=config.http.body_timeout_s,
        )
    )
    stack.callback(server.close)
    routes = oauth_routes(server, config.paths)
    return Admission(guarded, (routes,), _open_paths(config, routes), guarded.reread)


def _issuer(config: Config) -> str:
    return config.security.issuer or f"https://localhost:{config.tls.https_port}"


def _open_paths(config: Config, routes: APIRouter) -> frozenset[str]:
    """Where tokens come from, and what says so."""
    paths = config.paths
    found = {paths.register, paths.token, paths.revoke, paths.keys}
    return frozenset(
        found | {path for route in routes.routes if _WELL_KNOWN in (path := getattr(route, "path", ""))}
    )
