"""The doubles of foreign clients do what the real ones were seen to do; so what passes them passes those."""

import zlib

import pytest
from support.fake_stream import FakeStream
from support.strict_consumer import LineConsumer, LineJsonConsumer, StrictConsumer
from support.strict_reader import Dies, StrictReader

from triplewire.broker.wire.items import Item, command_item, encode_item

WHOLE = b"Event-Id: e1\r\nSource-Id: s\r\nSyntax: text/plain\r\nBody-Length: 2\r\n\r\nab"
SECOND = WHOLE.replace(b"e1", b"e2")


def item(number, **fields):
    return Item(f"e{number}", "s", "text/plain", b"ab", **fields)


@pytest.mark.parametrize(
    "wire",
    [
        WHOLE,
        WHOLE.replace(b"\r\n", b"\n"),
        WHOLE.replace(b"Syntax", b"X-A: b:c\r\nX-A: d\r\nX-\xc3\xa9: \xc3\xbc\r\nSyntax"),
        WHOLE.replace(b"text/plain", b"text/plain; charset=utf-8"),
        WHOLE.replace(b"text/plain", b"ztreamy-test"),
        WHOLE.replace(b"Source-Id: s", b"Source-Id: "),
        WHOLE.replace(b"Body-Length: 2\r\n", b"").removesuffix(b"ab"),
    ],
)
def test_what_the_real_one_reads_is_read(wire):
    """Byte by byte, too."""
    assert [each.event_id for each in StrictReader().feed(wire + SECOND)] == ["e1", "e2"]
    reader = StrictReader()
    assert len([each for byte in wire + SECOND for each in reader.feed(bytes([byte]))]) == 2


@pytest.mark.parametrize(
    ("wire", "why"),
    [
        (WHOLE + b"\r\n" + SECOND, "missing headers"),
        (WHOLE + b"\n" + SECOND, "missing headers"),
        (WHOLE.replace(b"Event-Id", b"event-id"), "missing headers"),
        (WHOLE.replace(b"Source-Id: s\r\n", b""), "missing headers"),
        (WHOLE.replace(b"Syntax", b"Event-Id: e2\r\nSyntax"), "duplicate header"),
        (WHOLE.replace(b"text/plain", b"turtle"), "malformed Syntax"),
        (WHOLE.replace(b"text/plain", b"ztreamy-command"), "unsupported command"),
        (
            WHOLE.replace(b"text/plain", b"ztreamy-command").replace(
                b"2\r\n\r\nab", b"15\r\n\r\nSet-Compression"
            ),
            "unsupported command",
        ),
        (WHOLE.replace(b"text/plain", b"text/n3"), "text/n3 that is none"),
        (WHOLE.replace(b"Syntax", b"no header\r\nSyntax"), "no header"),
        (WHOLE.replace(b"h: 2", b"h: two"), "Body-Length"),
    ],
)
def test_what_the_real_one_dies_of_is_deadly(wire, why):
    """Each row of the facts."""
    with pytest.raises(Dies, match=why):
        StrictReader().feed(wire)


def test_n3_is_parsed_unless_it_is_told_otherwise():
    """As by the real one."""
    good = WHOLE.replace(b"text/plain", b"text/n3").replace(b"2\r\n\r\nab", b"13\r\n\r\n<a> <b> <c> .")

    assert len(StrictReader().feed(good)) == 1
    assert len(StrictReader(parses=False).feed(good.replace(b"<c>", b"c c"))) == 1


@pytest.fixture
def stream():
    with FakeStream() as server:
        yield server


def test_it_sends_what_the_real_one_sends(stream):
    """Exactly its headers; and last-seen as it is."""
    odd = Item("a b&c", "s", "text/plain")
    with StrictConsumer(f"{stream.url}/stream") as consumer:
        stream.until(lambda: stream.followers)
        stream.publish(item(1))
        consumer.until(1)
        stream.cut()
        stream.publish(item(2))
        consumer.until(2)
    _, target, headers = stream.requests[0]

    assert [each.event_id for each in consumer.items] == ["e1", "e2"]
    assert target == "/events/stream"
    assert {name: value for name, value in headers.items() if name != "host"} == {
        "user-agent": "Mozilla/5.0 (compatible; pycurl)",
        "accept": "*/*",
        "accept-encoding": "deflate;q=1, identity;q=0.5",
    }
    assert stream.requests[1][1] == "/events/stream?last-seen=e1"
    consumer.items[-1].headers["Event-Id"] = odd.event_id
    assert consumer._next_url().endswith("?last-seen=a b&c")


def test_it_gives_up_on_a_4xx_and_comes_again_after_a_5xx(stream):
    """Whatever the 4xx is."""
    stream.replies.extend(
        [(503, {}, b""), (302, {"Location": f"{stream.url}/priority"}, b""), (429, {}, b"")]
    )
    with StrictConsumer(f"{stream.url}/stream") as consumer:
        consumer.reached(lambda: consumer.gave_up)

    assert consumer.gave_up == 429
    assert len(stream.requests) == 3
    assert stream.requests[2][1] == "/events/priority"


def test_dead_it_hears_nothing_until_the_connection_ends(stream):
    """Then it comes again."""
    with StrictConsumer(f"{stream.url}/stream") as consumer:
        stream.until(lambda: stream.followers)
        stream.publish(item(1))
        stream.send(b"\r\n")
        stream.publish(item(2))
        consumer.reached(lambda: consumer.deaths)
        assert len(consumer.items) == 1
        stream.end()
        consumer.until(2)

    assert [each.event_id for each in consumer.items] == ["e1", "e2"]


@pytest.mark.parametrize("clean", [True, False])
def test_a_finished_stream_is_left_only_where_the_connection_is_cut(stream, clean):
    """As the real one half-honors it; data after it is delivered."""
    with StrictConsumer(f"{stream.url}/stream") as consumer:
        stream.until(lambda: stream.followers)
        stream.send(
            encode_item(command_item("Stream-Finished", "f"))
            + encode_item(command_item("Test-Connection", "t"))
        )
        stream.publish(item(1))
        consumer.until(1)
        stream.end() if clean else stream.cut()
        if clean:
            stream.until(lambda: stream.followers)
        else:
            consumer.reached(lambda: not consumer._thread.is_alive())

    assert consumer.finished == 1
    assert len(stream.requests) == (2 if clean else 1)


def test_blocks_of_other_compressors_are_read(stream):
    """And deflate without its header."""
    raw = zlib.compressobj(wbits=-15)
    block = raw.compress(encode_item(item(2))) + raw.flush(zlib.Z_SYNC_FLUSH)
    with StrictConsumer(f"{stream.url}/compressed") as consumer:
        stream.until(lambda: stream.followers)
        stream.publish(item(1))
        stream._followers[0].connection.sendall(b"%x\r\n%b\r\n" % (len(block), block))
        consumer.until(2)
    stream.cut()
    with StrictConsumer(f"{stream.url}/compressed") as consumer:
        stream.until(lambda: stream.followers)
        stream._followers[0].connection.sendall(b"%x\r\n%b\r\n" % (len(block), block))
        consumer.until(1)


class Serving:
    """Each connection gets these bytes and is closed."""

    def __init__(self, head, *bodies):
        import socket
        import threading

        self.asked = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/events/stream"
        self._bodies, self._head = bodies, head
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        for body in self._bodies:
            connection, _ = self._socket.accept()
            with connection:
                self.asked.append(connection.recv(65_536))
                connection.sendall(b"HTTP/1.1 200 OK\r\n" + self._head + b"\r\n" + body)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._thread.join(10)
        self._socket.close()


LINE = b'{"Event-Id": "e1", "Source-Id": "s", "Syntax": "text/plain", "Body": "ab"}'


def test_lines_of_json_end_in_crlf(stream):
    """And it goes on behind the last id that it stored."""
    lines = [LINE + b"\r\n" + LINE.replace(b"e1", b"e2") + b"\r\n" + LINE, LINE.replace(b"e1", b"e3") + b"\n"]
    pieces = [zlib.compressobj() for _ in lines]
    bodies = [
        each.compress(line) + each.flush(zlib.Z_SYNC_FLUSH) for each, line in zip(pieces, lines, strict=True)
    ]
    head = b"Content-Type: application/x-ldjson\r\nContent-Encoding: deflate\r\n"
    with Serving(head, *bodies) as server, LineJsonConsumer(f"{server.url}?last-seen=") as consumer:
        consumer.reached(lambda: len(server.asked) == 2)

    assert [each.event_id for each in consumer.items] == ["e1", "e2"]
    assert b"GET /events/stream?last-seen= HTTP" in server.asked[0]
    assert b"Accept: application/x-ldjson\r\nAccept-Encoding: deflate\r\n" in server.asked[0]
    assert b"?last-seen=e2 HTTP" in server.asked[1]


def test_a_line_that_is_no_item_is_its_end():
    """An empty one, too."""
    head = b"Content-Type: application/x-ldjson\r\n"
    with Serving(head, b"\r\n" + LINE + b"\r\n") as server, LineJsonConsumer(server.url) as consumer:
        consumer.reached(lambda: consumer.deaths)
    assert consumer.items == []


def test_lines_are_read_where_the_next_header_is_glued_to_the_body():
    """The last body at once; bodies of several lines with CRLF between them."""
    two = WHOLE.replace(b"2\r\n\r\nab", b"4\r\n\r\na\nb").replace(b"Body-Length: 4", b"Body-Length: 4")
    wire = WHOLE + two.replace(b"e1", b"e2") + SECOND.replace(b"e2", b"e3")
    with Serving(b"", wire) as server, LineConsumer(server.url) as consumer:
        consumer.until(3)

    assert [(each.event_id, each.body) for each in consumer.items] == [
        ("e1", b"ab"),
        ("e2", b"a\r\nb"),
        ("e3", b"ab"),
    ]
    assert b"Accept" not in server.asked[0]


def test_an_empty_line_between_items_is_the_line_readers_end():
    """It is no header."""
    with Serving(b"", WHOLE + b"\r\n\r\n" + SECOND) as server, LineConsumer(server.url) as consumer:
        consumer.reached(lambda: consumer.deaths)
    assert [each.event_id for each in consumer.items] == ["e1"]
