"""Where a broker is reached."""

from __future__ import annotations

import asyncio
import socket
import ssl

import pytest
from support.certificates import LocalAuthority

from triplewire.broker.config import Config, HttpConfig, StreamGateConfig, TlsConfig, WebSocketConfig
from triplewire.broker.ports import http_ports, stream_ports, websocket_ports
from triplewire.broker.security.authority import Nobody
from triplewire.gates.http.router import Router
from triplewire.gates.quotas import Quotas
from triplewire.gates.stream.server import StreamServer
from triplewire.gates.tls import Certificate


class Closing:
    """A WebSocket gate that has nothing to say."""

    async def handle(self, connection):
        await connection.close()


@pytest.fixture
def config(tmp_path):
    authority = LocalAuthority(tmp_path)
    files = {"certificate": str(authority.certificate), "key": str(authority.key)}
    return Config(
        http=HttpConfig(port=0),
        websocket=WebSocketConfig(port=0, host="::1"),
        tls=TlsConfig(**files, https_port=0, wss_port=0, stream_port=0),
        stream=StreamGateConfig(port=0),
    )


def router(config):
    async def nothing(scope, receive, send):
        pass

    return Router(config.http, config.limits, Nobody(), nothing)


@pytest.mark.parametrize("secure", [False, True])
async def test_each_port_is_told(config, secure):
    """An address of IPv6 in brackets; "" where there is no certificate; nobody listens afterwards."""
    tls = Certificate(config.tls) if secure else None
    async with (
        websocket_ports(config, Closing(), tls) as websockets,
        http_ports(config, router(config), websockets, tls, Quotas(config.limits)) as listening,
    ):
        places = [listening.http, listening.websocket, listening.https, listening.wss]
        assert listening.websocket.startswith("[::1]:")
        assert [bool(place) for place in places] == [True, True, secure, secure]
        open_ports = [int(place.rpartition(":")[2]) for place in places if place]
        assert len(set(open_ports)) == len(open_ports)
        for place in filter(None, places):
            host, _, port = place.rpartition(":")
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
            writer.close()
            await writer.wait_closed()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", open_ports[0])


@pytest.mark.parametrize("secure", [False, True])
async def test_the_stream_ports_are_told(config, secure):
    """Over TLS the same answers come; nobody listens afterwards."""
    tls = Certificate(config.tls) if secure else None
    server = StreamServer({}, Nobody(), config.limits, config.stream)
    async with stream_ports(config, server, None, tls) as (plain, over_tls):
        assert bool(over_tls) is secure
        context = ssl.create_default_context(cafile=config.tls.certificate)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        for place, how in ((plain, None), *([(over_tls, context)] if secure else [])):
            port = int(place.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=how)
            writer.write(b"GET /nothing/stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 404 ")
            writer.close()
            await writer.wait_closed()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", int(plain.rpartition(":")[2]))


async def test_a_port_that_is_taken_stops_the_start(config):
    """And leaves the others closed."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        wanted = Config(http=HttpConfig(port=port), websocket=WebSocketConfig(port=0))
        with pytest.raises(OSError, match="in use"):
            async with (
                websocket_ports(wanted, Closing(), None) as websockets,
                http_ports(wanted, router(wanted), websockets, None, Quotas(wanted.limits)),
            ):
                pytest.fail("it listens")
        assert not websockets[0].is_serving()
