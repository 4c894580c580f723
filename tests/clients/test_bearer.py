"""What is known of tokens, by itself; `test_connection.py` has it in its place."""

import pytest

from triplewire.broker.wire.subscribe import RenewMessage, decode_client
from triplewire.clients.authorization import Token
from triplewire.clients.bearer import RENEW, Bearer


class Tokens:
    def __init__(self, token=None):
        self.held = token

    def known(self, refused=None):  # noqa: ARG002 - as the session asks
        return self.held


@pytest.fixture
def tokens():
    return Tokens(Token("one", 10, 20))


@pytest.fixture
def bearer(tokens):
    return Bearer(tokens)


def test_it_speaks_with_what_is_known(bearer):
    """And knows when that should be followed by another."""
    assert bearer.renew_at is None

    assert bearer.speaks().text == "one"

    assert (bearer.told_text, bearer.renew_at, bearer.wanted) == ("one", 10, False)


def test_where_nothing_is_known_a_token_is_wanted(bearer, tokens):
    """Messages wait, and are said with the one that is brought, whatever its age."""
    tokens.held = None
    assert bearer.speaks() is None
    assert bearer.wanted

    assert bearer.brings(Token("two", 1, 2))
    assert (bearer.wanted, bearer.speaks().text) == (False, "two")
    bearer.brings(None)
    assert bearer.speaks() is None


def test_a_refused_token_is_not_spoken_with_again(bearer):
    """Nor is the same one taken for another."""
    bearer.speaks()
    assert bearer.refuse("one")

    assert (bearer.refused, bearer.wanted, bearer.speaks()) == ("one", True, None)
    assert not bearer.brings(Token("one"))


def test_a_token_that_was_followed_already_is_refused_in_vain(bearer, tokens):
    """The answer was late."""
    bearer.speaks()
    tokens.held = Token("two")
    bearer.speaks()

    assert bearer.refuse("one")
    assert (bearer.refused, bearer.wanted) == (None, False)


def test_without_a_token_there_is_none_better(bearer, tokens):
    """A broker that wants one gets none."""
    assert not bearer.refuse(None)
    tokens.held = Token(None)
    bearer.speaks()
    assert not bearer.speaks_by_name


def test_a_renewal_is_said_once(bearer):
    """Where the token is another one, or something is held back."""
    bearer.speaks()
    bearer.brings(Token("one", 20, 20))
    assert bearer.renew(muted=False) is None
    assert bearer.renew_at == 20
    assert decode_client(bearer.renew(muted=True)) == RenewMessage("one", RENEW)
    assert bearer.renew(muted=True) is None
    bearer.renewed()
    bearer.brings(Token("two"))
    assert decode_client(bearer.renew(muted=False)) == RenewMessage("two", RENEW)


def test_a_lost_connection_takes_with_it_what_the_broker_knew(bearer):
    """The next broker may know renewals."""
    bearer.speaks()
    bearer.refuse("one")
    bearer.understood = False
    bearer.pending = True

    bearer.lost()

    assert (bearer.refused, bearer.wanted, bearer.understood, bearer.pending) == (None, False, True, False)
    assert bearer.told_text is None
