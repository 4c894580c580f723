"""The Secure Event Protocol's messages: what real clients send, what they are sent, and both codecs face to face."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode

from triplewire.broker.errors import BrokerRefused, ProtocolError
from triplewire.broker.model import BindingsDelta, Failure, Notification, Query, Resume, Unsubscribed
from triplewire.broker.wire.subscribe import (
    MessageError,
    Renewed,
    RenewMessage,
    SubscribeMessage,
    UnsubscribeMessage,
    broker_bytes,
    decode_broker,
    decode_client,
    decode_failure,
    encode_broker,
    encode_client,
    refusal,
    utf8,
)

GOLDEN = Path(__file__).parent / "golden"
SPUID = "sepa://subscription/8e7c1f2a-7f5e-4a53-9df1-0d9d4a4e7a10"
INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"


def golden(name):
    """The transcripts of a file, each a test of its own."""
    found = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return [pytest.param(entry, id=entry["name"]) for entry in found]


def term(text):
    """A term from its N-Triples form, as far as the transcripts need it."""
    if text is None:
        return None
    if text.startswith("<"):
        return NamedNode(text[1:-1])
    if text.startswith("_:"):
        return BlankNode(text[2:])
    value, _, tag = text[1:].rpartition('"')
    return Literal(int(value)) if tag == INTEGER else Literal(value, language=tag[1:])


def client_noun(entry):
    """The message that a transcript of a client means."""
    if "unsubscribe" in entry:
        return UnsubscribeMessage(**entry["unsubscribe"])
    said = entry["subscribe"]
    query = Query(said["sparql"], tuple(said["default_graphs"]), tuple(said["named_graphs"]))
    return SubscribeMessage(query, said["alias"], said["authorization"])


def broker_noun(entry):
    """The message that a transcript of a broker means."""
    if "unsubscribed" in entry:
        return Unsubscribed(**entry["unsubscribed"])
    if "failure" in entry:
        return Failure(**entry["failure"])
    told = entry["notification"]
    added, removed = (
        Counter(tuple(term(text) for text in row) for row in told[side]) for side in ("added", "removed")
    )
    delta = BindingsDelta(tuple(told["vars"]), added, removed)
    return Notification(told["spuid"], told["alias"], told["sequence"], delta)


@pytest.mark.parametrize("entry", golden("client"))
def test_what_real_clients_say_is_understood(entry):
    """The variants that sepy, sepa-js and the Java clients send, and what they mean."""
    noun = client_noun(entry)
    assert decode_client(entry["text"]) == noun
    assert decode_client(encode_client(noun)) == noun


@pytest.mark.parametrize("entry", golden("refused"))
def test_what_is_no_message_is_refused_with_sepas_code(entry):
    """And with the request's alias where one can be read, so that its sender knows what failed."""
    with pytest.raises(MessageError) as caught:
        decode_client(entry["text"])
    assert (caught.value.code, caught.value.alias) == (entry["code"], entry["alias"])
    assert str(caught.value)


@pytest.mark.parametrize("entry", golden("broker"))
def test_what_the_broker_says_byte_for_byte(entry):
    """Both members in full shape, `alias` only where there is one, the error flat."""
    noun = broker_noun(entry)
    assert encode_broker(noun) == entry["text"]
    assert decode_broker(entry["text"]) == noun
    assert decode_broker(entry["text"].encode()) == noun


def test_older_brokers_are_understood():
    """The TR leaves an empty side an empty object."""
    full = '{"head":{"vars":["x"]},"results":{"bindings":[{"x":{"type":"bnode","value":"b"}}]}}'
    for added, removed in ((full, "{}"), ("{}", full)):
        told = decode_broker(
            f'{{"notification":{{"spuid":"s","sequence":1,"addedResults":{added},"removedResults":{removed}}}}}'
        )
        assert isinstance(told, Notification)
        assert told.delta.vars == ("x",)
        assert sum((told.delta.added + told.delta.removed).values()) == 1


@pytest.mark.parametrize(
    ("document", "failure"),
    [
        ({"error": "x"}, Failure("x", 500, "")),
        ({"error": {"body": "b", "code": 400}}, Failure("{'body': 'b', 'code': 400}", 500, "")),
        ({"error": "x", "status_code": "400", "alias": 1, "spuid": 2}, Failure("x", 500, "")),
        (
            {"error": "x", "status_code": 400, "error_description": "d", "alias": "a", "spuid": "s"},
            Failure("x", 400, "d", "a", "s"),
        ),
    ],
)
def test_an_error_with_missing_members_is_still_an_error(document, failure):
    """What is absent or of another kind is filled in."""
    assert decode_failure(document) == failure
    assert decode_broker(json.dumps(document)) == failure


def test_a_failure_becomes_our_clients_exception():
    """With the broker's own code, status and sentence."""
    error = refusal(Failure("parsing failed", 400, "line 1"))
    assert isinstance(error, BrokerRefused)
    assert (error.code, error.status, error.description) == ("parsing failed", 400, "line 1")
    assert "line 1" in str(error)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"notification":null}',
        '{"notification":[]}',
        '{"notification":"spuid"}',
        '{"notification":{"spuid":"s","sequence":1}}',
        '{"notification":{"sequence":1,"addedResults":{},"removedResults":{}}}',
        '{"notification":{"spuid":"s","sequence":"one","addedResults":{},"removedResults":{}}}',
        '{"notification":{"spuid":"s","sequence":NaN,"addedResults":{},"removedResults":{}}}',
        '{"notification":{"spuid":"s","sequence":1,"addedResults":[1],"removedResults":{}}}',
        '{"unsubscribed":null}',
        '{"unsubscribed":"spuid"}',
        '{"unsubscribed":{}}',
    ],
)
def test_what_no_broker_says_is_a_protocol_error(text):
    """Members that are missing or of the wrong kind."""
    with pytest.raises(ProtocolError):
        decode_broker(text)


def test_a_sequence_without_end_is_a_protocol_error():
    """JSON's numbers can be larger than any float."""
    with pytest.raises(ProtocolError):
        decode_broker('{"notification":{"spuid":"s","sequence":1e999,"addedResults":{},"removedResults":{}}}')


# --- face to face -----------------------------------------------------------------------------------------------

words = st.text(min_size=1)
graphs = st.lists(words, max_size=2).map(tuple)
tokens = st.none() | st.from_regex(r"[A-Za-z0-9._~+/-]{1,20}=*", fullmatch=True)
client_messages = st.one_of(
    st.builds(SubscribeMessage, st.builds(Query, st.text(), graphs, graphs), st.none() | words, tokens),
    st.builds(
        SubscribeMessage,
        st.builds(Query, st.text()),
        st.none() | words,
        tokens,
        st.just(value=True),
        st.none() | st.builds(Resume, st.text(), st.integers()),
    ),
    st.builds(UnsubscribeMessage, st.text(), st.none() | words, tokens),
)
bags = st.dictionaries(
    st.tuples(st.none() | st.text().map(Literal), st.none() | st.integers().map(Literal)),
    st.integers(1, 3),
    max_size=3,
).map(Counter)
deltas = st.builds(lambda before, after: BindingsDelta.between(("x", "y"), before, after), bags, bags)
broker_messages = st.one_of(
    st.builds(Notification, st.text(), st.none() | st.text(), st.integers(0), deltas),
    st.builds(Unsubscribed, st.text()),
    st.builds(Failure, st.text(), st.integers(100, 599), st.text(), st.none() | words, st.none() | words),
)


@given(client_messages)
def test_the_broker_understands_our_clients(message):
    """Whatever the query, graphs, alias and token are."""
    assert decode_client(encode_client(message)) == message


@given(broker_messages)
def test_our_clients_understand_the_broker(message):
    """Whatever the message is; its text is JSON and UTF-8."""
    text = encode_broker(message)
    assert decode_broker(text) == message
    assert decode_broker(text.encode()) == message


@pytest.mark.parametrize(
    ("said", "resumable", "resume"),
    [
        ("{}", True, None),
        ('{"spuid":"s","sequence":3}', True, Resume("s", 3)),
        ('{"spuid":"s"}', True, None),
        ('{"spuid":"s","sequence":"3"}', True, None),
        ('{"spuid":"s","sequence":true}', True, None),
        ('{"spuid":1,"sequence":3}', True, None),
        ("null", False, None),
        ("true", False, None),
        ("[]", False, None),
    ],
)
def test_what_a_client_says_of_resuming(said, resumable, resume):
    """An object is a client that can; what is in it and not understood is one that begins."""
    message = decode_client(f'{{"subscribe":{{"sparql":"ASK {{}}","resume":{said}}}}}')
    assert isinstance(message, SubscribeMessage)
    assert (message.resumable, message.resume) == (resumable, resume)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('{"alias":"plain"}', b'{"alias":"plain"}'),
        ('{"alias":"ქართული 😀"}', '{"alias":"ქართული 😀"}'.encode()),
        ('{"alias":"\ud800"}', b'{"alias":"\\ud800"}'),
        ('{"alias":"é\udfffé"}', '{"alias":"é\\udfffé"}'.encode()),
    ],
)
def test_a_lone_surrogate_leaves_as_the_escape_it_came_as(text, data):
    """UTF-8 has no bytes for it, and a client that sent one must know its own alias again."""
    assert utf8(text) == data


@pytest.mark.parametrize("message", [Unsubscribed("\ud800"), Failure("c", 400, "\ud800", "\udfff")])
def test_half_a_pair_passes_in_any_message(message):
    """Also around rows, which are bytes already."""
    delta = BindingsDelta(("x",), Counter([(Literal("é"),)]), Counter())
    told = Notification("s", "\ud800", 1, delta)

    assert decode_broker(broker_bytes(message)) == message
    assert decode_broker(broker_bytes(told)) == told


# --- what is not of the protocol -----------------------------------------------------------------------------------

MEMBERS = [
    "subscribe",
    "unsubscribe",
    "notification",
    "unsubscribed",
    "error",
    "sparql",
    "spuid",
    "alias",
    "sequence",
    "addedResults",
    "removedResults",
    "default-graph-uri",
    "authorization",
    "x",
]
json_texts = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(MEMBERS),
            inner,
            max_size=5,
        )
    ),
    max_leaves=10,
).map(json.dumps)


@settings(max_examples=300)
@given(st.text(st.characters()) | json_texts)
def test_any_text_is_a_message_or_a_message_error(text):
    """Of a client; lone surrogates included."""
    with suppress(MessageError):
        assert isinstance(decode_client(text), SubscribeMessage | UnsubscribeMessage)


@settings(max_examples=300)
@given(st.text(st.characters()) | st.binary() | json_texts.filter(lambda text: "Infinity" not in text))
def test_any_text_of_a_broker_is_a_message_or_a_protocol_error(text):
    """Our clients meet brokers that are not ours."""
    with suppress(ProtocolError):
        assert isinstance(decode_broker(text), Notification | Unsubscribed | Failure)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"subscribe":' * 100_000, '{"subscribe":{"sparql":"x","y":' + "[" * 100_000]
)
def test_nesting_without_end_is_refused(text):
    """The reader's recursion limit is told, not met."""
    with pytest.raises(MessageError, match="nested too deeply") as caught:
        decode_client(text)
    assert caught.value.code == "JsonParseException"


def test_a_broker_that_nests_without_end_misbehaves():
    """As any other text that is no message."""
    with pytest.raises(ProtocolError):
        decode_broker('{"notification":' * 100_000)


def test_lone_surrogates_are_read_as_they_stand():
    """JSON may hold them escaped; what can't take them refuses them later, by their request's alias."""
    said = decode_client('{"subscribe":{"sparql":"ASK {} # \\ud800","alias":"\\udc00"}}')
    assert said == SubscribeMessage(Query("ASK {} # \ud800"), "\udc00")
    with pytest.raises(MessageError) as caught:
        decode_client('{"\\ud800":{},"alias":"\\udc00"}')
    assert caught.value.alias == "\udc00"
    assert str(caught.value).encode(), "the description can be sent"


def test_a_whole_surrogate_pair_is_one_character():
    """Escaped, as many writers of JSON do."""
    said = decode_client('{"subscribe":{"sparql":"ASK {} # \\ud83d\\uDE00","alias":"\\ud83d\\ude00"}}')
    assert said == SubscribeMessage(Query("ASK {} # \U0001f600"), "\U0001f600")


def test_a_long_number_is_refused():
    """Python reads no integer of more than 4,300 digits."""
    with pytest.raises(MessageError, match="not JSON"):
        decode_client('{"subscribe":{"sparql":"ASK {}","timeout":' + "9" * 5000 + "}}")


@pytest.mark.parametrize(
    ("text", "token", "alias"),
    [
        ('{"renew":{"authorization":"Bearer a.b.c"}}', "a.b.c", None),
        ('{"renew":{"authorization":"bearer a.b.c","alias":"x"}}', "a.b.c", "x"),
        ('{"renew":{"alias":null},"authorization":"a.b.c"}', "a.b.c", None),
        ('{"renew":{}}', None, None),
    ],
)
def test_a_renew_is_read(text, token, alias):
    """Its token is at either place, as that of a subscribe."""
    assert decode_client(text) == RenewMessage(token, alias)


@pytest.mark.parametrize("body", ["7", "null", '"Bearer x"', "[]"])
def test_a_renew_is_an_object(body):
    """Otherwise it is told with its alias."""
    with pytest.raises(MessageError) as refused:
        decode_client(f'{{"renew":{body},"alias":"x"}}')

    assert (refused.value.code, refused.value.alias) == ("Exception", "x")


@pytest.mark.parametrize("message", [RenewMessage("a.b.c"), RenewMessage("a.b.c", "x"), RenewMessage(None)])
def test_a_renew_comes_back_as_it_was_written(message):
    """Client to broker."""
    assert decode_client(encode_client(message)) == message


@pytest.mark.parametrize("message", [Renewed(5), Renewed(0, 'x"\ud800'), Renewed(None)])
def test_the_answer_to_a_renew_comes_back_as_it_was_written(message):
    """Broker to client; in UTF-8 too."""
    assert decode_broker(encode_broker(message)) == message


@pytest.mark.parametrize("body", ["null", "{}", '{"expires_in":"x"}', '{"expires_in":[]}'])
def test_an_answer_to_a_renew_that_is_none_is_refused(body):
    """Rather than taken for one."""
    with pytest.raises(ProtocolError):
        decode_broker(f'{{"renewed":{body}}}')


def test_no_token_is_in_what_a_message_looks_like():
    """Logs and tracebacks show messages."""
    messages = (
        RenewMessage("secret"),
        SubscribeMessage(Query("ASK {}"), authorization="secret"),
        UnsubscribeMessage("s", authorization="secret"),
    )
    assert "secret" not in repr(messages)
