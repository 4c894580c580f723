import json
import signal

import pytest
from support.cli_running import running
from support.fake_stream import FakeStream
from support.fake_tracker import FakeTracker

from triplewire.broker.wire.gap_items import ANY_CHAIN, Missing, gap_item
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


def test_items_are_printed_as_they_come(stream):
    """As bytes, each at once; Ctrl-C ends with 0."""
    with running("consume", stream.url) as process:
        stream.until(lambda: stream.followers)
        for number in range(3):
            stream.publish(item(number))
            wire = encode_item(item(number))
            assert process.stdout.read(len(wire)) == wire

    assert (process.returncode, process.errors) == (0, "")


def test_a_lost_connection_is_told_and_opened_again(stream):
    """On standard error."""
    with running("consume", "--format", "bodies", stream.url) as process:
        stream.until(lambda: stream.followers)
        stream.publish(item(1))
        assert process.stdout.readline() == b"body 1\n"
        stream.end()
        assert process.stderr.readline() == b"triplewire: the stream has ended; connecting again\n"
        stream.publish(item(2))
        assert process.stdout.readline() == b"body 2\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


@pytest.mark.parametrize(
    ("form", "printed"),
    [
        ("items", encode_item(item(1)).decode()),
        ("bodies", "body 1\n"),
        ("ldjson", None),
    ],
)
def test_there_are_three_forms(stream, capsysbinary, form, printed):
    """LDJSON is one object a line."""
    stream.publish(item(1), item(2))

    assert consume(stream, "--last-seen", "none", "--count", "1", "--format", form) == 0
    out = capsysbinary.readouterr().out.decode()
    if printed is None:
        assert json.loads(out)["Event-Id"] == "e1"
        assert out.endswith("\r\n")
    else:
        assert out == printed


def test_the_state_is_kept_and_gone_on_from(stream, tmp_path, capsysbinary):
    """The last item that was printed is not printed again."""
    stream.publish(*map(item, range(1, 6)))
    state = str(tmp_path / "seen")

    for expected in (b"body 1\nbody 2\n", b"body 3\nbody 4\n"):
        arguments = ["--state", state, "--last-seen", "none", "--count", "2", "--format", "bodies"]
        assert consume(stream, *arguments) == 0
        assert capsysbinary.readouterr().out == expected


@pytest.mark.parametrize("here", [True, False])
def test_filters_are_asked_here_and_the_server_is_told(stream, capsysbinary, here):
    """Which need not know them."""
    stream.publish(item(1), item(2, event_type="é T"))

    arguments = ["--filter", "event-type=é T", "--filter", "source=s", *(["--filter-here"] if here else [])]
    assert consume(stream, *arguments, "--last-seen", "none", "--count", "1", "--format", "bodies") == 0
    assert capsysbinary.readouterr().out == b"body 2\n"
    asked = "" if here else "event-type=%C3%A9+T&source=s&"
    assert stream.requests[0][1] == f"/events/compressed?{asked}last-seen=none"


def test_a_gap_is_told(stream, tmp_path, capsysbinary):
    """With the ids on both sides of it."""
    (tmp_path / "seen").write_text('{"last_seen": "e2", "before": "e1"}')
    stream.publish(item(7))

    assert consume(stream, "--state", str(tmp_path / "seen"), "--count", "1") == 0
    assert capsysbinary.readouterr().err == b"triplewire: items may be missing between e2 and e7\n"


def test_what_a_relay_could_not_get_is_told(stream, capsysbinary):
    """And not printed as an item."""
    lost = (
        Missing("00ff", "client\x1b", 7, 9),
        Missing("00ff", "", 12, 12),
        Missing(ANY_CHAIN, "", 3600, 7200),
    )
    for missing in lost:
        stream.publish(gap_item(missing, "s"))
    stream.publish(item(1))

    assert consume(stream, "--last-seen", "none", "--count", "1", "--format", "bodies") == 0
    out, errors = capsysbinary.readouterr()
    assert out == b"body 1\n"
    assert errors.decode().splitlines() == [
        "triplewire: 3 items are missing: 7 to 9 of the chain 00ff of client\\u001B",
        "triplewire: 1 item is missing: 12 of the chain 00ff",
        "triplewire: items may be missing that were published between"
        " 1970-01-01T01:00:00+00:00 and 1970-01-01T02:00:00+00:00",
    ]


def test_a_tracker_is_asked_and_others_where_it_is_dead(stream, capsysbinary):
    """It is told the region, the relay is not; filters go to all."""
    stream.publish(item(1), item(2))
    arguments = ["--last-seen", "none", "--count", "2", "--format", "bodies", "--region", "eu"]
    with FakeTracker() as dead, FakeTracker({"r1": stream.url.removesuffix("/events")}) as tracker:
        dead.close()
        assert consume(stream, *arguments, "--filter", "source=s", dead.url, tracker.url) == 0
        assert tracker.asked == [{"source": "s", "last-seen": "none", "region": "eu"}]
    assert capsysbinary.readouterr().out == b"body 1\nbody 2\n"
    assert stream.requests[0][1] == "/events/compressed?source=s&last-seen=none"


def test_each_of_the_urls_is_looked_at(stream, capsys):
    """Before anything is done."""
    assert consume(stream, "nonsense") == 2
    assert "a stream's URL is like" in capsys.readouterr().err


def test_a_terminal_is_not_steered_by_what_is_printed(stream, capsys, monkeypatch):
    """Control characters are escaped."""
    monkeypatch.setattr("triplewire.clients.cli_consume.is_terminal", lambda: True)
    stream.publish(Item("e1", "s", "text/plain", b"a\x1b[2Jb\r\nc"))

    assert consume(stream, "--last-seen", "none", "--count", "1", "--format", "bodies") == 0
    assert capsys.readouterr().out == "a\\u001B[2Jb\nc\n"
