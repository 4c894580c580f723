"""Who may do what with a stream's overlay, as far as a tracker's decisions go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from triplewire.broker.rights import Access


class Judge(Protocol):
    """Who may do what; see `TrackerAccess`."""

    @property
    def known(self) -> bool:
        """Whether all is known that decides over streams; until then nobody is told anything of those that it may be in."""

    def registered(self, stream: str) -> bool:
        """Whether the stream is no name that somebody has made up."""

    def refusal(self, stream: str, who: Access) -> str:
        """Why a client's node may not be in a stream; "" where it may."""

    def publisher(self, stream: str, who: Access) -> str | None:
        """The name under which a client's node publishes into a stream; None where it may not."""


class Everybody:
    """A judge who lets everybody do everything."""

    known = True

    @staticmethod
    def registered(stream: str) -> bool:  # noqa: ARG004
        """See `Judge`."""
        return False

    @staticmethod
    def refusal(stream: str, who: Access) -> str:  # noqa: ARG004
        """See `Judge`."""
        return ""

    @staticmethod
    def publisher(stream: str, who: Access) -> str | None:  # noqa: ARG004
        """See `Judge`."""
        return ""
