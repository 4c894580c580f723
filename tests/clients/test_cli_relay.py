import pytest
from support.cli_running import running
from support.fake_stream import FakeStream

from triplewire.broker.wire.items import Item


@pytest.fixture
def stream():
    with FakeStream() as server:
        yield server


def item(number, **fields):
    return Item(f"e{number}", "s", "text/plain", f"body {number}".encode(), **fields)


def test_a_relay_publishes_what_comes(stream, tmp_path):
    """At once, with its ids, over losses on both sides; another start goes on where it was."""
    state = str(tmp_path / "seen")
    with FakeStream() as target:
        target.replies.append((503, {"Retry-After": "0"}, b""))
        target.cuts_posts = 1
        with running("relay", "--state", state, stream.url, target.url) as process:
            stream.until(lambda: stream.followers)
            stream.publish(item(1), item(2))
            stream.until(lambda: len(target.items) == 2)
            stream.cut()
            stream.publish(item(3))
            stream.until(lambda: len(target.items) == 3)
        assert process.returncode == 0
        stream.publish(item(4))
        with running("relay", "--state", state, stream.url, target.url):
            stream.until(lambda: len(target.items) == 4)

        assert list(target.items) == [item(number) for number in range(1, 5)]
    assert stream.requests[0][1] == "/events/priority"
    assert stream.requests[0][2]["accept-encoding"] == "identity"
