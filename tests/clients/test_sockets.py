import socket

import pytest

from triplewire.broker.errors import ConnectionLost
from triplewire.clients.settings import ClientSettings
from triplewire.clients.sockets import AsyncSocket, BlockingSocket

SETTINGS = ClientSettings(timeout_s=2, max_message_bytes=1000)
HELLO = '{"unsubscribe":{"spuid":"nobody"}}'


@pytest.fixture
def nobody():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"ws://127.0.0.1:{probe.getsockname()[1]}/subscribe"


def test_texts_go_both_ways(fake):
    """One message each."""
    open_socket = BlockingSocket.open(fake.ws, SETTINGS)

    open_socket.send(HELLO)

    assert "sid_not_found" in open_socket.receive(5)
    assert open_socket.receive(0.01) is None
    open_socket.close()


async def test_texts_go_both_ways_under_asyncio(fake):
    """One message each."""
    open_socket = await AsyncSocket.open(fake.ws, SETTINGS)

    await open_socket.send(HELLO)

    assert "sid_not_found" in await open_socket.receive(5)
    assert await open_socket.receive(0.01) is None
    await open_socket.close()


async def test_a_broker_that_is_away_is_told(nobody):
    """With its URL."""
    with pytest.raises(ConnectionLost, match=nobody):
        BlockingSocket.open(nobody, SETTINGS)
    with pytest.raises(ConnectionLost, match=nobody):
        await AsyncSocket.open(nobody, SETTINGS)


async def test_a_server_that_knows_no_websockets_is_told(fake):
    """It answers with a status."""
    url = fake.http.replace("http", "ws") + "/subscribe"

    with pytest.raises(ConnectionLost):
        BlockingSocket.open(url, SETTINGS)
    with pytest.raises(ConnectionLost):
        await AsyncSocket.open(url, SETTINGS)


def test_a_connection_that_breaks_is_told(fake):
    """While reading, and then while writing."""
    open_socket = BlockingSocket.open(fake.ws, SETTINGS)
    open_socket.send(HELLO)
    open_socket.receive(5)
    fake.drop()

    with pytest.raises(ConnectionLost, match="no goodbye"):
        open_socket.receive(5)
    with pytest.raises(ConnectionLost):
        open_socket.send(HELLO)
    open_socket.close()


async def test_a_connection_that_breaks_is_told_under_asyncio(fake):
    """While reading, and then while writing."""
    open_socket = await AsyncSocket.open(fake.ws, SETTINGS)
    await open_socket.send(HELLO)
    await open_socket.receive(5)
    fake.drop()

    with pytest.raises(ConnectionLost, match="no goodbye"):
        await open_socket.receive(5)
    with pytest.raises(ConnectionLost):
        await open_socket.send(HELLO)
    await open_socket.close()


async def test_a_message_over_the_bound_ends_the_connection(fake):
    """The bound is a setting."""
    blocking = BlockingSocket.open(fake.ws, SETTINGS)
    other = await AsyncSocket.open(fake.ws, SETTINGS)
    blocking.send(HELLO)
    blocking.receive(5)
    await other.send(HELLO)
    await other.receive(5)

    fake.tell_all("x" * 1001)

    with pytest.raises(ConnectionLost, match="1009"):
        blocking.receive(5)
    with pytest.raises(ConnectionLost, match="1009"):
        await other.receive(5)
    blocking.close()
    await other.close()
