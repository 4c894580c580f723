"""What a reader process is asked, and who hears the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from triplewire.broker.model import QueryForm

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyoxigraph import DefaultGraph, NamedNode

    from triplewire.broker.wire.media import AnswerFormat

    Choose: TypeAlias = Callable[[QueryForm], AnswerFormat]
    # Raises where the answer is not wanted any more, or takes too long.
    Check: TypeAlias = Callable[[], None]

_FORM = re.compile(r"\b(?:(SELECT)|(ASK)|(?:CONSTRUCT|DESCRIBE))\b", re.IGNORECASE)


class Sink(Protocol):
    """Where the bytes of an answer go; may block where they are taken slowly, and raise where nobody wants them."""

    def start(self, form: QueryForm, format_: AnswerFormat) -> None:
        """The answer's form is known and its format chosen; bytes follow."""

    def write(self, data: bytes) -> int:
        """Take some bytes."""
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """A query as Oxigraph takes it: `text` has been measured and made ready.

    The graphs are None where the dataset is the store's own.
    """

    text: str
    base_iri: str | None = None
    prefixes: dict[str, str] = field(default_factory=dict)
    default_graphs: tuple[NamedNode | DefaultGraph, ...] | None = None
    named_graphs: tuple[NamedNode, ...] | None = None
    union_default_graph: bool = False

    def options(self) -> dict[str, Any]:
        """The arguments of Oxigraph's `Store.query` beside the text."""
        options: dict[str, Any] = {"base_iri": self.base_iri, "prefixes": self.prefixes}
        if self.default_graphs is not None or self.named_graphs is not None:
            options["default_graph"] = list(self.default_graphs or ())
            options["named_graphs"] = list(self.named_graphs or ())
        elif self.union_default_graph:
            options["use_default_graph_as_union"] = True
        return options

    def likely_form(self) -> QueryForm:
        """The form of the answer as the first such word has it, which may stand in the prologue and be none."""
        found = _FORM.search(self.text)
        if found is None or found[1]:
            return QueryForm.SELECT
        return QueryForm.ASK if found[2] else QueryForm.CONSTRUCT
