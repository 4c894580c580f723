"""The topics manager: tells the broker which observation each name of a reading stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triplewire.clients import AsyncGenericClient

from .mappings import mappings

if TYPE_CHECKING:
    from typing import Self

    from triplewire.clients import ClientSettings
    from triplewire.jsap import Profile

    from .mappings import Mapping


class TopicsManager:
    """Adds and removes mappings; an adapter that is running hears of each at once."""

    def __init__(self, profile: Profile, settings: ClientSettings | None = None) -> None:
        self._profile = profile
        self._client = AsyncGenericClient(profile, settings=settings)

    async def add_all(self) -> int:
        """Add every mapping of the profile; how many there are.

        Raises:
            ProfileError: one of them is not as it should be; then none is added.
            ClientError: the broker can't be reached, or refuses.
        """
        found = mappings(self._profile.extended)
        for mapping in found:
            await self.add(mapping)
        return len(found)

    async def add(self, mapping: Mapping) -> None:
        """Add a mapping, or change what its observation is described by; a value that is there stays.

        Raises:
            ProfileError: one of its IRIs is none.
            ClientError: the broker can't be reached, or refuses.
        """
        await self._client.update("ADD_OBSERVATION", mapping.bindings())

    async def remove(self, observation: str) -> None:
        """Remove an observation with its mapping and its value; raises as `add` does."""
        await self._client.update("REMOVE_OBSERVATION", observation=observation)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
