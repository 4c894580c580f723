import pytest
from support.fake_stream import FakeStream

from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import Item, encode_item
from triplewire.clients import cli


@pytest.fixture
def stream():
    with FakeStream() as server:
        yield server


def item(number, **fields):
    return Item(f"e{number}", "s", "text/plain", f"body {number}".encode(), **fields)


def consume(stream, *arguments):
    return cli.run(["consume", *arguments, stream.url])


@pytest.mark.parametrize(
    "arguments",
    [
        ["publish"],
        ["publish", "http://localhost"],
        ["publish", "--source", "s", "URL"],
        ["publish", "--lines", "URL"],
        ["publish", "--syntax", "text/plain", "URL"],
        ["publish", "--syntax", "turtle", "--source", "s", "URL"],
        ["publish", "URL", "/nowhere"],
        ["consume"],
        ["consume", "localhost"],
        ["consume", "--filter", "source", "--filter", "size=3", "URL"],
        ["consume", "--filter", "ask=SELECT", "URL"],
        ["consume", "--count", "0", "URL"],
        ["consume", "--format", "xml", "URL"],
        ["relay", "URL"],
        ["relay", "URL", "ws://localhost/events"],
    ],
)
def test_what_does_not_go_together_is_wrong_usage(stream, capsys, arguments):
    """Before anything is opened."""
    assert cli.run([stream.url if word == "URL" else word for word in arguments]) == 2
    assert stream.requests == []


def test_refusals_end_with_1_and_nobody_there_with_3(stream, capsys):
    """In one line."""
    stream.replies.append((404, {}, b"no such stream"))
    assert consume(stream) == 1
    assert "no such stream" in capsys.readouterr().err
    assert cli.run(["consume", "http://127.0.0.1:1/events"]) == 3
    assert cli.run(["relay", "http://127.0.0.1:1/events", stream.url]) == 3


def test_a_token_goes_with_the_requests(stream, tmp_path):
    """Of both servers of a relay, too."""
    stream.publish(item(1))
    assert consume(stream, "--token", "t", "--last-seen", "none", "--count", "1") == 0
    file = tmp_path / "empty"
    file.write_bytes(encode_item(item(2)))
    assert cli.run(["publish", "--token", "t", stream.url, str(file)]) == 0

    assert [headers["authorization"] for *_, headers in stream.requests] == ["Bearer t", "Bearer t"]


def test_what_is_consumed_can_be_published(stream, tmp_path, capsysbinary):
    """The forms are the same."""
    stream.publish(item(1), item(2))
    assert consume(stream, "--last-seen", "none", "--count", "2") == 0
    wire = capsysbinary.readouterr().out

    assert ItemReader().feed(wire) == [item(1), item(2)]
