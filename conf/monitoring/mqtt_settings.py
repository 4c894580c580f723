"""How to reach the MQTT broker, out of `extended.mqtt`."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplewire.broker.errors import ProfileError
from triplewire.jsap.endpoints import port_number
from triplewire.jsap.shape import at, flag, members, strings, text

if TYPE_CHECKING:
    from collections.abc import Mapping

PATH = "extended.mqtt"
_PORT, _TLS_PORT = 1883, 8883
_CLIENT = "triplewire-monitoring"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Files with certificates and the key; without an authority the system's own are trusted."""

    authority: str | None = None
    certificate: str | None = None
    key: str | None = None

    def context(self) -> ssl.SSLContext:
        """What a connection is made with; raises OSError (ssl.SSLError too) where a file can't be used."""
        context = ssl.create_default_context(cafile=self.authority)
        if self.certificate is not None:
            context.load_cert_chain(self.certificate, self.key)
        return context


@dataclass(frozen=True, slots=True, kw_only=True)
class MqttSettings:
    """Settings of the MQTT connection; seconds as the names say."""

    host: str = "localhost"
    port: int = _PORT
    topics: tuple[str, ...] = ("#",)  # filters with MQTT's wildcards
    client: str = _CLIENT  # the session's name at the broker: one adapter, one name
    username: str | None = None
    password_file: str | None = None
    tls: Tls | None = None
    in_flight: int = 100  # messages that the broker may send before we have said that one is done
    queue: int = 10_000  # messages of QoS 0 that wait here; what comes on top of them is lost, and counted
    session_s: int = 86_400  # for how long the broker keeps messages for us while we are away

    @classmethod
    def of(cls, extended: Mapping[str, Any]) -> MqttSettings:
        """The settings in the `extended` member of a profile.

        Raises:
            ProfileError: a member is not as it should be.
        """
        found = members(extended, "mqtt", "extended")
        tls = _tls(members(found, "tls", PATH))
        return cls(
            host=text(found, "host", PATH) or "localhost",
            port=port_number(found.get("port"), PATH) or (_TLS_PORT if tls else _PORT),
            topics=strings(found, "topics", PATH) or ("#",),
            client=text(found, "client", PATH) or _CLIENT,
            username=text(found, "username", PATH),
            password_file=text(found, "password-file", PATH),
            tls=tls,
            in_flight=_count(found, "in-flight", 100, 65_535),
            queue=_count(found, "queue", 10_000, 1_000_000_000),
            session_s=_count(found, "session-s", 86_400, 2**32 - 1),
        )

    def password(self) -> str | None:
        """The first line of the password's file; raises OSError where it can't be read."""
        if self.password_file is None:
            return None
        return Path(self.password_file).read_text(encoding="utf-8").partition("\n")[0]


def _tls(found: Mapping[str, Any]) -> Tls | None:
    path = at(PATH, "tls")
    if not flag(found, "enable", path, default=bool(found)):
        return None
    return Tls(
        authority=text(found, "authority", path),
        certificate=text(found, "certificate", path),
        key=text(found, "key", path),
    )


def _count(found: Mapping[str, Any], name: str, default: int, most: int) -> int:
    value = found.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= most:
        raise ProfileError(at(PATH, name), f"expected a whole number from 1 to {most}, not {value!r}")
    return value
