"""An aggregator follows one query and makes one update of a profile: it turns events into other events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .consumer import AsyncConsumer, Consumer
from .producer import AsyncProducer, Producer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from triplewire.jsap.profile import Profile

    from .authorization import Authorization
    from .settings import ClientSettings


class Aggregator(Consumer):
    """A `Consumer` that can also `update`, from its callbacks too."""

    def __init__(  # noqa: PLR0913 - nearly all are keywords
        self,
        profile: Profile | str | PathLike[str],
        query_id: str,
        update_id: str,
        *,
        settings: ClientSettings | None = None,
        authorization: Authorization | None = None,
        identity: str | None = None,
        **named: Any,
    ) -> None:
        super().__init__(
            profile, query_id, settings=settings, authorization=authorization, identity=identity, **named
        )
        self._producer = Producer(
            self._application.profile, update_id, settings=self._settings, authorization=self._authorization
        )

    def update(self, values: Mapping[str, object] | None = None, /, **bindings: object) -> None:
        """As `Producer.update`."""
        self._producer.update(values, **bindings)

    def close(self) -> None:
        """Close both connections."""
        super().close()
        self._producer.close()


class AsyncAggregator(AsyncConsumer):
    """`Aggregator` for asyncio."""

    def __init__(  # noqa: PLR0913 - nearly all are keywords
        self,
        profile: Profile | str | PathLike[str],
        query_id: str,
        update_id: str,
        *,
        settings: ClientSettings | None = None,
        authorization: Authorization | None = None,
        identity: str | None = None,
        **named: Any,
    ) -> None:
        super().__init__(
            profile, query_id, settings=settings, authorization=authorization, identity=identity, **named
        )
        self._producer = AsyncProducer(
            self._application.profile, update_id, settings=self._settings, authorization=self._authorization
        )

    async def update(self, values: Mapping[str, object] | None = None, /, **bindings: object) -> None:
        """As `Producer.update`."""
        await self._producer.update(values, **bindings)

    async def close(self) -> None:
        """Close both connections."""
        await super().close()
        await self._producer.close()
