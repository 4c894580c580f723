"""Which observation a name of a reading stands for: as a profile has it, and as the broker tells it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pyoxigraph import Literal, NamedNode

from triplewire.broker.errors import ProfileError
from triplewire.jsap.shape import at, members, text

from .services import Follower

if TYPE_CHECKING:
    from collections.abc import Mapping as AbstractMapping

    from triplewire.clients import ClientSettings, Solution
    from triplewire.jsap import Profile

PATH = "extended.semantic-mappings"


@dataclass(frozen=True, slots=True)
class Mapping:
    """What a reading of this name means; IRIs may be prefixed names of the profile."""

    topic: str
    observation: str
    unit: str
    location: str
    label: str
    comment: str = ""

    @classmethod
    def of(cls, topic: str, entry: AbstractMapping[str, Any], path: str) -> Mapping:
        """The mapping that an entry of `semantic-mappings` is; without a label it has its topic for one.

        Raises:
            ProfileError: a member is missing or is not a string.
        """
        found = {name: text(entry, name, path) for name in ("observation", "unit", "location")}
        missing = [name for name, value in found.items() if not value]
        if missing:
            raise ProfileError(at(path, missing[0]), "missing")
        return cls(
            topic,
            **{name: value or "" for name, value in found.items()},
            label=text(entry, "label", path) or topic,
            comment=text(entry, "comment", path) or "",
        )

    def bindings(self) -> dict[str, object]:
        """The values of ADD_OBSERVATION."""
        return {**asdict(self)}


def mappings(extended: AbstractMapping[str, Any]) -> list[Mapping]:
    """The mappings in the `extended` member of a profile; raises ProfileError."""
    found = members(extended, "semantic-mappings", "extended")
    return [Mapping.of(topic, members(found, topic, PATH), f"{PATH}.{topic}") for topic in found]


class Topics(Follower):
    """The mappings that are in the broker now."""

    def __init__(self, profile: Profile, settings: ClientSettings | None = None) -> None:
        super().__init__(profile, "TOPICS", settings=settings)
        self._observations: defaultdict[str, set[NamedNode]] = defaultdict(set)

    def observations(self, name: str) -> tuple[NamedNode, ...]:
        """The observations that a reading of this name belongs to: mostly one, or none yet."""
        return tuple(self._observations.get(name, ()))

    def on_first_results(self, rows: list[Solution]) -> None:
        """All mappings."""
        self.on_added(rows)

    def on_added(self, rows: list[Solution]) -> None:
        """New ones."""
        for row in rows:
            match row:
                case {"topic": Literal(value=topic), "observation": NamedNode() as observation}:
                    self._observations[topic].add(observation)

    def on_removed(self, rows: list[Solution]) -> None:
        """Those that are no more."""
        for row in rows:
            match row:
                case {"topic": Literal(value=topic), "observation": NamedNode() as observation}:
                    self._observations[topic].discard(observation)
                    if not self._observations[topic]:
                        del self._observations[topic]
