import pytest

from triplewire.clients.authorization import Asked, Authorize, Token, source_of, token_from


class Fetching:
    def known(self, refused=None):
        return Token("known") if refused != "known" else None


def test_a_function_is_asked_each_time():
    """It may have another token by then."""
    texts = iter(["one", "two", "three"])
    source = source_of(lambda: next(texts))

    assert source.known().text == "one"
    assert source.token().text == "two"


async def test_a_function_is_asked_under_asyncio_too():
    """As it must not block."""
    assert (await Asked(lambda: "one").token_async("refused")).text == "one"


def test_nothing_gives_no_tokens():
    """For brokers that want none."""
    assert source_of(None).known() == Token(None)


def test_a_source_is_itself():
    """It is no function."""
    source = Fetching()

    assert source_of(source) is source


def test_a_flow_waits_only_where_a_token_must_be_fetched():
    """It says which one was refused."""
    with pytest.raises(StopIteration) as end:
        next(token_from(Fetching()))
    assert end.value.value == Token("known")

    source = Fetching()
    flow = token_from(source, "known")
    assert next(flow) == Authorize(source, "known")
    with pytest.raises(StopIteration) as end:
        flow.send(Token("new"))
    assert end.value.value == Token("new")
