import pytest
from support.cli_running import running
from support.fake_stream import FakeStream

from triplewire.broker.wire.items import Item, encode_item
from triplewire.clients import cli


@pytest.fixture
def stream():
    with FakeStream() as server:
        yield server


def item(number, **fields):
    return Item(f"e{number}", "s", "text/plain", f"body {number}".encode(), **fields)


@pytest.mark.parametrize("options", [[], ["--json"], ["--compressed"]])
def test_items_of_a_file_are_published(stream, tmp_path, capsys, options):
    """In order."""
    file = tmp_path / "items"
    file.write_bytes(encode_item(item(1)) + encode_item(item(2)))

    assert cli.run(["publish", *options, stream.url, str(file)]) == 0
    assert list(stream.items) == [item(1), item(2)]
    assert capsys.readouterr().err == "2 items published\n"


def test_a_body_can_be_published_as_one_item(stream, tmp_path):
    """With an id of its own and the time."""
    file = tmp_path / "a.ttl"
    file.write_bytes(b"<a:b> <a:c> 1 .\n")

    arguments = ["--syntax", "text/turtle", "--source", "s", "--type", "T", "--application", "a"]
    assert cli.run(["publish", *arguments, stream.url, str(file)]) == 0
    (made,) = stream.items
    assert (made.body, made.syntax, made.source_id) == (b"<a:b> <a:c> 1 .\n", "text/turtle", "s")
    assert (made.event_type, made.application_id) == ("T", "a")
    assert made.timestamp


def test_lines_are_published_as_they_come(stream):
    """From a pipe that goes on."""
    with running("publish", "--syntax", "text/plain", "--source", "s", "--lines", stream.url) as process:
        process.stdin.write(b"one\n")
        process.stdin.flush()
        stream.until(lambda: stream.items)
        process.stdin.write(b"two\nthree")
        process.stdin.close()
        process.stdin = None
        assert process.wait(20) == 0

    assert [each.body for each in stream.items] == [b"one", b"two", b"three"]
    assert process.errors == "3 items published\n"


def test_what_is_no_item_ends_with_1_and_says_where(stream, tmp_path, capsys):
    """What came before it has been published."""
    file = tmp_path / "items"
    file.write_bytes(encode_item(item(1)) + b"\r\n")

    assert cli.run(["publish", stream.url, str(file)]) == 1
    assert "item 2" in capsys.readouterr().err
