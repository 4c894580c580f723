"""The terminals of a query one after the other, and the terms that they are; see `parser`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from triplewire.broker.names import BEFORE_NAMES
from triplewire.broker.tokens import Token, tokens

from .syntax import Constant, NotUnderstood

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

END = Token("end", "", -1, -1)
BOOLEANS = ("TRUE", "FALSE")


class Terminals:
    """The terminals, one after the other, and what single ones mean."""

    def __init__(self, text: str, prefixes: Iterable[str], slots: Mapping[int, int]) -> None:
        """`prefixes` are declared beforehand; `slots` numbers open constants by where they start."""
        self.text = text
        self.found = list(tokens(text))
        self.place = 0
        self.slots = slots
        self._prefixes = {f"{name}:" for name in prefixes}
        self._blanks = 0

    @property
    def here(self) -> Token:
        """The next terminal."""
        return self.found[self.place] if self.place < len(self.found) else END

    @property
    def before(self) -> Token:
        """The one taken last."""
        return self.found[self.place - 1] if self.place else END

    def take(self) -> Token:
        """Take the next one."""
        token = self.here
        if token is END:
            self.fail("the text ends")
        self.place += 1
        return token

    def takes(self, *symbols: str) -> bool:
        """Whether one of these stands here; then it is taken.  Words in upper case are keywords."""
        if self.sees(*symbols):
            self.place += 1
            return True
        return False

    def sees(self, *symbols: str) -> bool:
        """Whether one of these stands here."""
        token = self.here
        return token.is_word(*symbols) or (token.kind == "symbol" and token.text in symbols)

    def expect(self, symbol: str) -> Token:
        """Take this one."""
        if not self.sees(symbol):
            self.fail(f"{symbol} is not here")
        return self.take()

    def fail(self, reason: str) -> NoReturn:
        """Give up here."""
        raise NotUnderstood(f"{reason} at {self.here.text!r}")

    def variable(self) -> str:
        """A variable's name."""
        token = self.take()
        if token.kind != "variable":
            self.fail("no variable")
        return token.text[1:]

    def blank(self) -> str:
        """A new blank node."""
        self._blanks += 1
        return f"_:[{self._blanks}]"

    def prologue(self) -> str:
        """Reads the declarations, and gives their text."""
        while self.sees("BASE", "PREFIX", "VERSION"):
            word = self.take()
            if word.is_word("PREFIX"):
                name = self.take()
                if name.kind != "pname" or not name.text.endswith(":"):
                    self.fail("no prefix")
                self._prefixes.add(name.text)
            declared = self.take()
            if declared.kind not in {"iri", "string"} or declared.start in self.slots:
                self.fail("a declaration")
        return self.text[: self.before.end] if self.place else ""

    def iri(self) -> Constant:
        """An IRI, in full or by a prefix."""
        token = self.take()
        if token.kind not in {"iri", "pname"}:
            self.fail("no IRI")
        if token.kind == "pname":
            self.check_name(token)
        return self._constant(token, token.end, written=token.kind == "iri")

    def _constant(self, first: Token, end: int, *, written: bool) -> Constant:
        text = self.text[first.start : end]
        slot = self.slots.get(first.start)
        return Constant(
            text,
            first.start,
            end,
            slot,
            self.text[first.end : end] if first.kind == "string" else "",
            written,
        )

    def check_name(self, token: Token) -> None:
        """Give up where the name could be read as a keyword and a shorter name."""
        prefix = token.text[: token.text.index(":") + 1]
        if prefix not in self._prefixes:
            self.fail(f"{prefix} is not declared")
        for end in range(1, len(prefix)):
            if prefix[end:] in self._prefixes and BEFORE_NAMES.fullmatch(prefix, 0, end):
                self.fail(f"{prefix} can be read in two ways")

    def literal(self) -> Constant:
        """A literal, or a boolean."""
        token = self.take()
        if token.is_word(*BOOLEANS):
            return self._constant(token, token.end, written=False)
        if token.kind == "symbol" and token.text in {"+", "-"}:
            number = self.take()
            if number.kind != "number" or number.start != token.end:
                self.fail("a sign")
            return self._constant(token, number.end, written=True)
        if token.kind == "number":
            return self._constant(token, token.end, written=True)
        if token.kind != "string":
            self.fail("no term")
        end = token.end
        if self.here.kind == "lang" and self.here.start == end:
            end = self.take().end
        elif self.here.text == "^^":
            self.take()
            datatype = self.iri()
            if datatype.slot is not None:
                self.fail("a datatype apart")
            end = datatype.end
        elif self.here.kind == "lang":
            self.fail("a language tag apart")
        return self._constant(token, end, written=True)
