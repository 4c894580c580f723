"""Items as Hypothesis draws them: all that can be said in one, and bytes that are nearly one."""

from __future__ import annotations

from hypothesis import strategies as st

from triplewire.broker.wire.items import COMMAND, COMMANDS, KNOWN, TEST, Item, encode_item

_UNFIT = {chr(code) for code in (*range(9), *range(10, 32), *range(0x7F, 0xA0), 0x2028, 0x2029)}
characters = st.characters(exclude_categories=["Cs"], exclude_characters=_UNFIT)
values = st.one_of(
    st.sampled_from(["a", "bar:baz", "x | y", "Årsta", "a,b", ": ", "😀", "a\tb", "|"]),
    st.text(characters, max_size=12),
).map(lambda value: value.strip(" \t"))
ids = values.filter(bool)
aggregator_ids = st.lists(ids.map(lambda value: value.replace(",", "")).filter(bool), max_size=3).map(tuple)
_reserved = {name.lower() for name in (*KNOWN, "Body")}
names = st.one_of(
    st.sampled_from(["X-Foo", "X-Float-Timestamp", "x", "@id", "Aggregator-Id", "é"]),
    st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,8}", fullmatch=True),
).filter(lambda name: name.lower() not in _reserved)
syntaxes = st.sampled_from(
    [
        "text/turtle",
        "text/n3",
        "application/ld+json",
        "application/json",
        "text/plain; charset=utf-8",
        'a/b;x="y\\"; z" ; v=1',
        "application/vnd.x+json",
        TEST,
    ]
)
bodies = st.one_of(
    st.sampled_from(
        [b"", b"<a> <b> <c> .", b'{"a": 1}', b"\n", b"\r\n\r\n", b"Event-Id: x\r\n\r\n", b"\xff\x00"]
    ),
    st.binary(max_size=40),
)


@st.composite
def items(draw, *, syntax=syntaxes, body=bodies) -> Item:
    """Any item, a command now and then."""
    maybe = st.one_of(st.none(), values)
    common = {
        "application_id": draw(maybe),
        "aggregator_ids": draw(
            aggregator_ids.filter(lambda ids: (joined := ",".join(ids)).strip(" \t") == joined)
        ),
        "event_type": draw(maybe),
        "timestamp": draw(maybe),
        "headers": tuple(draw(st.dictionaries(names, values, max_size=3)).items()),
    }
    if draw(st.integers(0, 5)) == 0:
        name = draw(st.sampled_from(sorted(COMMANDS)))
        return Item(draw(ids), draw(values), COMMAND, name.encode(), **common)
    return Item(draw(ids), draw(ids), draw(syntax), draw(body), **common)


streams = st.lists(items(), max_size=4)


@st.composite
def pieces(draw, data: bytes) -> list[bytes]:
    """The same bytes, cut anywhere."""
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


_parts = [
    *[f"{name}:".encode() for name in (*KNOWN, "Body", "X-Foo")],
    *(
        b"event-id: a",
        b" a",
        b"\r\n",
        b"\n",
        b"\r",
        b"\r\n\r\n",
        b"\0",
        b"\xff",
        b":",
        b",",
        b"0",
        b"13",
        b"-1",
    ),
    *(b"text/turtle", b"ztreamy-command", b"ztreamy-test", b"Test-Connection", b"Set-Compression"),
    *("\u2028".encode(), "é".encode(), b"9" * 19, b"\xd9\xa3", b"\x0b", b"application/json"),
]


@st.composite
def spoilt_streams(draw) -> bytes:
    """Items, with a part of their bytes taken out, doubled, or something put in, some times."""
    data = b"".join(map(encode_item, draw(streams)))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(start + 10, len(data))))
        put = draw(st.one_of(st.just(b""), st.just(data[start:end] * 2), st.sampled_from(_parts)))
        data = data[:start] + put + data[end:]
    return data


nearly_items = st.one_of(
    spoilt_streams(), st.lists(st.sampled_from(_parts), max_size=40).map(b"".join), st.binary(max_size=200)
)
