import httpx
import pytest

from triplewire.broker.errors import BrokerMisbehaved, ClientError, ConnectionLost
from triplewire.clients.exchange import AsyncHttpDriver, HttpDriver, translated
from triplewire.clients.flows import Call, Dropped, Reply, Wait
from triplewire.clients.settings import ClientSettings

SETTINGS = ClientSettings()
GET = Call("GET", "http://broker/query")


def once(step):
    return (yield step)


def either(step):
    try:
        yield step
    except ClientError as error:
        return error


def test_a_flow_is_run_to_its_end():
    """And its result is returned."""
    driver = HttpDriver(SETTINGS, transport=httpx.MockTransport(lambda _: httpx.Response(200, text="yes")))

    reply = driver.run(once(GET))

    assert (reply.status, reply.body) == (200, b"yes")
    driver.close()


async def test_a_flow_is_run_to_its_end_under_asyncio():
    """And its result is returned."""
    transport = httpx.MockTransport(lambda _: httpx.Response(200, text="yes"))
    driver = AsyncHttpDriver(SETTINGS, transport=transport)

    reply = await driver.run(once(GET))

    assert (reply.status, reply.body) == (200, b"yes")
    await driver.close()


def test_parameters_join_those_of_the_url():
    """An endpoint may have a query of its own."""
    seen = []
    transport = httpx.MockTransport(lambda request: seen.append(request.url) or httpx.Response(200))
    driver = HttpDriver(SETTINGS, transport=transport)

    driver.run(once(Call("GET", "http://broker/query?apikey=1", (("query", "ASK {}"), ("query", "b")))))
    driver.run(once(Call("POST", "http://broker/query?apikey=1", body=b"ASK {}")))

    assert [*seen[0].params.multi_items()] == [("apikey", "1"), ("query", "ASK {}"), ("query", "b")]
    assert str(seen[1]) == "http://broker/query?apikey=1"
    driver.close()


def test_header_names_are_in_lower_case():
    """So that flows find them."""
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers={"Retry-After": "1"}))
    driver = HttpDriver(SETTINGS, transport=transport)

    assert driver.run(once(GET)).headers["retry-after"] == "1"
    driver.close()


def test_waiting_is_the_clocks_business():
    """Which is passed in."""
    waited = []
    driver = HttpDriver(SETTINGS, sleep=waited.append)

    assert driver.run(once(Wait(2.5))) is None
    assert waited == [2.5]
    driver.close()


async def test_waiting_is_the_clocks_business_under_asyncio():
    """Which is passed in."""
    waited = []

    async def sleep(seconds):
        waited.append(seconds)

    driver = AsyncHttpDriver(SETTINGS, sleep=sleep)

    await driver.run(once(Wait(2.5)))

    assert waited == [2.5]
    await driver.close()


def failing(_):
    raise httpx.ReadError("reset by peer")


def test_what_breaks_is_thrown_into_the_flow():
    """As an error of ours."""
    driver = HttpDriver(SETTINGS, transport=httpx.MockTransport(failing))

    assert isinstance(driver.run(either(GET)), Dropped)
    driver.close()


async def test_what_breaks_is_thrown_into_the_flow_under_asyncio():
    """As an error of ours."""
    driver = AsyncHttpDriver(SETTINGS, transport=httpx.MockTransport(failing))

    assert isinstance(await driver.run(either(GET)), Dropped)
    await driver.close()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.ConnectError("refused"), ConnectionLost),
        (httpx.ConnectTimeout(""), ConnectionLost),
        (httpx.ReadTimeout(""), ConnectionLost),
        (httpx.PoolTimeout(""), ConnectionLost),
        (httpx.ReadError(""), Dropped),
        (httpx.RemoteProtocolError("no response"), Dropped),
        (httpx.DecodingError("not gzip"), BrokerMisbehaved),
    ],
)
def test_each_error_of_httpx_is_one_of_ours(error, kind):
    """With the URL in its sentence."""
    translation = translated(error, "http://broker/query")

    assert type(translation) is kind
    assert "http://broker/query" in str(translation)


class Torn(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that breaks in its middle."""

    closed = False

    def __iter__(self):
        yield b"half"
        raise httpx.ReadError("reset by peer")

    async def __aiter__(self):
        yield b"half"
        raise httpx.ReadError("reset by peer")

    def close(self):
        self.closed = True

    async def aclose(self):
        self.closed = True


def test_a_streamed_body_that_breaks_is_told_and_closed():
    """After the pieces that came."""
    body, got = Torn(), []
    driver = HttpDriver(SETTINGS, transport=httpx.MockTransport(lambda _: httpx.Response(200, stream=body)))
    reply = driver.run(once(Call("GET", "http://broker/query", streamed=True)))

    with pytest.raises(ConnectionLost):
        got.extend(driver.chunks(reply))

    assert body.closed
    driver.close()


async def test_a_streamed_body_that_breaks_is_told_and_closed_under_asyncio():
    """After the pieces that came."""
    body = Torn()
    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=body))
    driver = AsyncHttpDriver(SETTINGS, transport=transport)
    reply = await driver.run(once(Call("GET", "http://broker/query", streamed=True)))

    with pytest.raises(ConnectionLost):
        [chunk async for chunk in driver.chunks(reply)]

    assert body.closed
    await driver.close()


def test_an_error_is_read_whole_though_a_stream_was_asked_for():
    """So that the flow can tell what it says."""
    transport = httpx.MockTransport(lambda _: httpx.Response(400, text="no"))
    driver = HttpDriver(SETTINGS, transport=transport)

    reply = driver.run(once(Call("GET", "http://broker/query", streamed=True)))

    assert reply == Reply(400, reply.headers, b"no")
    driver.close()
