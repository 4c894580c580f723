"""A chat client: one user's three agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triplewire.broker.errors import BrokerMisbehaved
from triplewire.broker.model import Bindings
from triplewire.clients import AsyncGenericClient, AsyncProducer, solutions_of

from .agents import Receiver, Remover
from .messages import Listener, iri, text

if TYPE_CHECKING:
    from typing import Self

    from pyoxigraph import NamedNode

    from triplewire.clients import ClientSettings
    from triplewire.jsap import Profile


class Client:
    """One user; `async with` joins the chat and closes the connections at the end."""

    def __init__(
        self,
        profile: Profile,
        name: str,
        listener: Listener | None = None,
        settings: ClientSettings | None = None,
    ) -> None:
        self.name = name
        self._user: NamedNode | None = None
        listener = listener or Listener()
        self._sender = AsyncProducer(profile, "SEND", settings=settings)
        self._receiver = Receiver(profile, listener, settings)
        self._remover = Remover(profile, listener, settings)
        self._registry = AsyncGenericClient(profile, settings=settings)

    @property
    def user(self) -> NamedNode:
        """The user's IRI, once joined."""
        assert self._user is not None
        return self._user

    async def join(self) -> None:
        """Register the user, where that has not been done, and begin to listen.

        Raises:
            ClientError: the broker can't be reached, or refuses.
        """
        await self._registry.update("REGISTER_USER", userName=self.name)
        users = await self.users()
        if self.name not in users:
            raise BrokerMisbehaved(f"{self.name} was registered, but is not among the users")
        self._user = users[self.name]
        await self._receiver.subscribe(receiver=self._user)
        await self._remover.subscribe(sender=self._user)

    async def users(self) -> dict[str, NamedNode]:
        """Who can be sent messages, by name."""
        answer = await self._registry.query("USERS")
        assert isinstance(answer, Bindings)  # USERS is a SELECT
        return {text(row, "userName"): iri(row, "user") for row in solutions_of(answer)}

    async def say(self, receiver: NamedNode, words: str) -> None:
        """Send a message to a registered user; to anybody else nothing is sent.

        Raises:
            ClientError: it may not have been sent.  It is not sent again by itself, as it could be a second one.
        """
        await self._sender.update(sender=self.user, receiver=receiver, text=words)

    async def leave(self) -> None:
        """Unregister the user: nobody can send messages to it any more."""
        await self._registry.update("UNREGISTER_USER", user=self.user)

    async def close(self) -> None:
        """Close all connections; the user stays registered."""
        await self._receiver.close()
        await self._remover.close()
        await self._sender.close()
        await self._registry.close()

    async def __aenter__(self) -> Self:
        try:
            await self.join()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
