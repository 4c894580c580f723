"""A table of the TOML form while it is read: every key is asked for once, and what nobody has asked for is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .mapping_problems import Problem, Problems, near

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")


class Table:
    """What stands at `path` of the document; what is wrong with it is put with the document's other problems."""

    def __init__(self, values: dict[str, Any], path: str, problems: Problems) -> None:
        self.path = path
        self._values = values
        self._problems = problems
        self._known: list[str] = []

    def __contains__(self, name: str) -> bool:
        """Whether something stands there; asking makes it a key."""
        return self.value(name) is not None

    def at(self, name: str) -> str:
        """The path of a key; of the table itself where the key is empty."""
        return ".".join(part for part in (self.path, name) if part)

    def problem(self, name: str, problem: object) -> None:
        """Something is wrong with the value of a key."""
        self._problems.add(self.at(name), problem)

    def end(self) -> None:
        """All keys have been asked for: the others mean nothing."""
        for name in self._values:
            if name not in self._known:
                self.problem(
                    name, f"is no key{near(name, self._known)}; there are {', '.join(sorted(self._known))}"
                )

    def value(self, name: str) -> Any:
        """Whatever stands there, or None."""
        if name not in self._known:
            self._known.append(name)
        return self._values.get(name)

    def required(self, name: str) -> Any:
        """Whatever stands there; None, and a problem, if nothing does."""
        found = self.value(name)
        if found is None:
            self.problem(name, "is missing")
        return found

    def text(self, name: str, default: str = "") -> str:
        """A text."""
        found = self.value(name)
        if isinstance(found, str | None):
            return default if found is None else found
        self.problem(name, f"must be a text, and is {found!r}")
        return default

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        """One of these words."""
        found = self.text(name, default)
        if found in choices:
            return found
        self.problem(name, f"must be one of {', '.join(choices)}, and is {found!r}{near(found, choices)}")
        return default

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false."""
        found = self.value(name)
        if isinstance(found, bool | None):
            return default if found is None else found
        self.problem(name, f"must be true or false, and is {found!r}")
        return default

    def texts(self, name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """A list of texts, or one."""
        found = self.value(name)
        if found is None:
            return default
        listed = found if isinstance(found, list) else [found]
        if all(isinstance(text, str) for text in listed):
            return tuple(listed)
        self.problem(name, f"must be a text or a list of texts, and is {found!r}")
        return default

    def table(self, name: str) -> Table:
        """A table of its own; an empty one where there is none."""
        found = self.value(name)
        if not isinstance(found, dict | None):
            self.problem(name, f"must be a table, and is {found!r}")
        return Table(found if isinstance(found, dict) else {}, self.at(name), self._problems)

    def tables(self, name: str) -> list[Table]:
        """Tables in a list: `[[name]]`."""
        found = self.value(name)
        listed = [] if found is None else found
        if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
            self.problem(name, f"must be tables, [[{name}]]")
            return []
        return [
            Table(one, f"{self.at(name)}[{place}]", self._problems)
            for place, one in enumerate(listed, start=1)
        ]

    def names(self) -> list[str]:
        """All its keys, where they are the writer's own."""
        self._known += [name for name in self._values if name not in self._known]
        return list(self._values)

    def read(self, name: str, reading: Callable[[], T], instead: T) -> T:
        """What `reading` gives; where it raises a Problem that is kept, and this is given instead."""
        try:
            return reading()
        except Problem as problem:
            self.problem(name, problem)
            return instead
