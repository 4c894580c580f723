"""What neighbours are told of chains: what is kept of each, and how far it is here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .messages import Heads, encode, heads_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from .certified import CertifiedChain
    from .chains import Sequencer
    from .kept import Kept

_QUIET_S: Final = 0.5


class Telling:
    """Of one stream; what is `withheld` is not in the `sequencer`'s order yet.  Newcomers want what is not older than `recent_s`.

    All times are of one clock that never goes back, in seconds.
    """

    def __init__(self, kept: Kept, sequencer: Sequencer, withheld: Container[bytes], recent_s: float) -> None:
        self._kept = kept
        self._sequencer = sequencer
        self._withheld = withheld
        self._recent_s = recent_s
        self._loud: dict[bytes, CertifiedChain] = {}  # neighbours do not know yet how far these are here

    def came(self, name: bytes, chain: CertifiedChain) -> None:
        """An item of that chain."""
        self._loud[name] = chain

    @property
    def loud(self) -> list[CertifiedChain]:
        """Of which something has come in the last moment."""
        return [*self._loud.values()]

    def forget(self, name: bytes) -> None:
        """A chain is over."""
        self._loud.pop(name, None)

    def quiet(self, now: float) -> dict[bytes, CertifiedChain]:
        """Of which chains nothing has come for a moment, each once."""
        found = {name: chain for name, chain in self._loud.items() if now - chain.heard_at >= _QUIET_S}
        for name in found:
            del self._loud[name]
        return found

    def messages(
        self, chains: Mapping[bytes, CertifiedChain], now: float, *, waited: bool = True
    ) -> Iterator[bytes]:
        """What is kept of those of which there is something; of what is not, the number that comes next.

        What is `waited` for here is told as well, or whoever hears of the chain by this would take it to begin behind that.
        """
        found: dict[bytes, tuple[int, int]] = {}
        recents: dict[bytes, int] = {}
        for name, chain in chains.items():
            if not chain.newest and chain.begins is None:
                continue
            newest = chain.newest or (chain.begins or 1) - 1
            following = newest + 1
            oldest, _ = self._kept.head(name) or (following, 0)
            recent = self._kept.recent(name, now - self._recent_s) or following
            waits = waited and not chain.own and name not in self._withheld
            position = self._sequencer.position(name) if waits else None
            if position is not None:
                oldest = min(oldest, position)
                # What a kept stream lacks from before is for nobody else
                recent = min(recent, max(position, chain.begins or recent))
            found[name] = oldest, newest
            if recent > oldest:
                recents[name] = recent
        return map(encode, heads_of(Heads(found, recents)))
