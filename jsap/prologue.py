"""The prologue of a SPARQL text: the prefixes that it declares, those it uses, and those a profile has to add.

Declarations are added before everything else and without a new line: BASE and PREFIX may stand in any order, and the
lines that an error message counts stay those of the author.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from triplewire.broker.errors import ProfileError
from triplewire.broker.tokens import tokens

from .terms import checked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from triplewire.broker.tokens import Token

_LENGTHS = {"BASE": 2, "PREFIX": 3, "VERSION": 2}


def end(text: str) -> int:
    """Where the prologue at the beginning of `text` ends."""
    return max((token.end for declaration in _declarations(text) for token in declaration), default=0)


def first_word(text: str) -> str:
    """The first keyword after the prologue, in upper case; empty where there is none."""
    found = next(tokens(text[end(text) :]), None)
    return found.text.upper() if found is not None and found.kind == "word" else ""


def declared(text: str) -> frozenset[str]:
    """The prefixes that the prologue at the beginning of `text` declares."""
    return frozenset(
        declaration[1].text.removesuffix(":")
        for declaration in _declarations(text)
        if len(declaration) > 1 and declaration[1].kind == "pname"
    )


def declared_anywhere(text: str) -> frozenset[str]:
    """The prefixes that `text` declares, also between the operations of an update."""
    found = list(tokens(text))
    return frozenset(
        token.text.removesuffix(":")
        for word, token in pairwise(found)
        if word.is_word("PREFIX") and token.kind == "pname"
    )


def used(text: str) -> dict[str, Token]:
    """The prefixes that `text` uses or declares, each with the first token that does so."""
    found: dict[str, Token] = {}
    for token in tokens(text):
        if token.kind == "pname":
            found.setdefault(token.text.partition(":")[0], token)
    return found


def missing(text: str, namespaces: Mapping[str, str]) -> str:
    """The declarations, on one line, of the prefixes that `text` uses and leaves to the profile.

    Raises:
        ProfileError: one of these namespaces is not an IRI.
    """
    prefixes = _left_open(text)
    return "".join(
        f"PREFIX {prefix}: <{_iri(prefix, namespace)}> "
        for prefix, namespace in namespaces.items()
        if prefix in prefixes
    )


@lru_cache(maxsize=256)  # profiles have some hundred texts, each bound again and again
def _left_open(text: str) -> frozenset[str]:
    return frozenset(used(text).keys() - declared(text))


def _iri(prefix: str, namespace: str) -> str:
    try:
        return checked(namespace)
    except ValueError as error:
        raise ProfileError(f"namespaces.{prefix}", str(error)) from error


def _declarations(text: str) -> Iterator[list[Token]]:
    stream = tokens(text)
    for token in stream:
        length = _LENGTHS.get(token.text.upper()) if token.kind == "word" else None
        if length is None:
            return
        yield [token, *islice(stream, length - 1)]
