"""For how long the subscriptions of one connection may be told: as long as the tokens that their clients came with.

Stands between the scheduler and the outbox, and learns there which subscription answers which subscribe.  Any good token
of the same client renews all that it holds here.  When its last one has run out, or was revoked, what happens to its
subscriptions is withheld, and it is told so for each: at once where something happens, else when it had a moment to come
by itself (SEPA's JavaScript client fetches a token when it needs one, and takes an error for a reason to begin anew).
When no other token comes within security.renew_s, they end.
Where the client may read other graphs by now, they end at once: their answers would be of two kinds.
"""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from triplewire.broker import meters
from triplewire.broker.errors import Forbidden, UnitFailed, UnknownSubscription
from triplewire.broker.model import Failure, Notification
from triplewire.broker.rights import Scope
from triplewire.broker.security.authority import Nobody

from .outbox import Outbox
from .withholding import WithholdingOutbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from triplewire.broker.config import LimitsConfig
    from triplewire.broker.model import BindingsDelta, Message, Query
    from triplewire.broker.rights import Access, Graphs
    from triplewire.broker.security.authority import Authority

_MOMENT_S = 1.0
_LONGEST_S = 3600.0  # a clock may be set: it is looked at again at least so often

_Key: TypeAlias = "tuple[str, str, Graphs]"
_Asked: TypeAlias = "tuple[str | None, Query]"


class _Lease(NamedTuple):
    """One subscription, as its client asked for it."""

    alias: str | None
    query: Query

    def failure(self, error: tuple[str, int, str], spuid: str) -> Failure:
        code, status, description = error
        return Failure(code, status, description, self.alias, spuid)


class _Bearer:
    """One client on one connection, as long as it may read the same graphs."""

    __slots__ = ("access", "leases", "out_since", "was_told")

    def __init__(self, access: Access) -> None:
        self.access = access  # by the token that is good for longest
        self.leases: dict[str, _Lease] = {}
        self.out_since: float | None = None
        self.was_told = False


_RAN_OUT = ("invalid_grant", 401, "the token has run out: renew it, and what happens meanwhile will be told")
_GONE = (UnitFailed.code, 401, "the token ran out and was not renewed in time (security.renew_s)")
_OTHER_RIGHTS = (Forbidden.code, 403, "what this client may read has changed: subscribe again")
_NO_SCOPE = ("insufficient_scope", 403, f"the token has no scope {Scope.SUBSCRIBE.value} any more")


class Leases:
    """An `Inbox` for the scheduler, in front of an outbox."""

    def __init__(
        self,
        authority: Authority,
        outbox: WithholdingOutbox,
        renew_s: float,
        end: Callable[[Iterable[str]], None] = lambda _: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`end` has the core end subscriptions, by spuid; what it says of them then is passed over."""
        self._authority = authority
        self._outbox = outbox
        self._renew_s = renew_s
        self._end = end
        self._now = now
        self._loop = asyncio.get_running_loop()
        self._bearers: dict[_Key, _Bearer] = {}
        self._of: dict[str, _Bearer] = {}
        self._told: dict[_Asked, list[str]] = {}  # those that were told that their token ran out
        self._asked: tuple[Access, _Asked] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._unlisten: Callable[[], None] | None = None
        self.ended: Callable[[str], None] = lambda _: None  # is told the client of each that ends
        outbox.now, outbox.expire, outbox.said = now, self._look, self._said

    # What a client says.

    def ask(self, access: Access, alias: str | None, query: Query) -> None:
        """A subscribe goes to the core: the next answer is its own."""
        self._asked = access, (alias, query)

    def begin_anew(self, access: Access, alias: str | None, query: Query) -> None:
        """A client whose token had run out subscribes again instead of renewing: that ends what it had."""
        for spuid in self._told.get((alias, query), ()):
            bearer = self._of[spuid]
            if _client(bearer.access) == _client(access):
                self._finish({spuid: None})
                return

    def renew(self, access: Access, *, knowingly: bool = False) -> None:
        """A good token has come: all that its client holds goes on.

        One that does so `knowingly` will not subscribe again for what it was told of.
        """
        for key, bearer in tuple(self._bearers.items()):
            if key[:2] != _client(access):
                continue
            if knowingly:
                self._told = {
                    asked: left
                    for asked, spuids in self._told.items()
                    if (left := [spuid for spuid in spuids if spuid not in bearer.leases])
                }
            out = bearer.out_since is not None
            if key == _key(access):
                if out or access.expires > bearer.access.expires:
                    bearer.access, bearer.out_since, bearer.was_told = access, None, False
                    self._arm()
                if out:
                    meters.RENEWED.inc()
                    self._outbox.release(bearer.leases)
            elif out:
                self._close(bearer, _OTHER_RIGHTS)

    def check(self, spuid: str, access: Access) -> None:
        """Only who subscribed may unsubscribe.

        Raises:
            UnknownSubscription: it was another client, or nobody; which of them is not told.
        """
        bearer = self._of.get(spuid)
        if bearer is None or _client(bearer.access) != _client(access):
            raise UnknownSubscription(f"there is no subscription {spuid:.200} on this connection")

    @property
    def left_s(self) -> float | None:
        """How long what leaves now may take on its way, in seconds; None where that does not matter."""
        until = self._outbox.until
        return None if until == math.inf else until - self._now()

    def close(self) -> None:
        """The connection is gone."""
        if self._timer is not None:
            self._timer.cancel()
        if self._unlisten is not None:
            self._unlisten()
        self._timer = self._unlisten = None
        self._bearers.clear()
        self._of.clear()
        self._told.clear()
        self._outbox.until = math.inf

    # What the core says.

    def put(self, message: Message) -> None:
        """See `Inbox`."""
        if isinstance(message, Notification):
            if not message.sequence:
                self._grant(message)
        elif message.spuid is not None:
            self._forget(message.spuid)
        self._outbox.put(message)

    def begin(self, first: Notification) -> None:
        """See `Inbox`."""
        self._grant(first)
        self._outbox.begin(first)

    def finish(self) -> None:
        """See `Inbox`."""
        self._outbox.finish()

    def lose(self) -> frozenset[str]:
        """See `Inbox`."""
        self.close()
        return self._outbox.lose()

    def reaches(self, spuid: str, sequence: int) -> bool:
        """See `Inbox`."""
        return self._outbox.reaches(spuid, sequence)

    def hand_over(self, spuid: str, sequence: int) -> BindingsDelta | None:
        """See `Inbox`."""
        return self._outbox.hand_over(spuid, sequence)

    def _grant(self, first: Notification) -> None:
        asked, self._asked = self._asked, None
        assert asked is not None
        access, lease = asked
        bearer = self._bearers.get(_key(access))
        if bearer is None:
            bearer = self._bearers[_key(access)] = _Bearer(access)
            if self._unlisten is None:
                self._unlisten = self._authority.listen(self._changed)
            self._arm()
        bearer.leases[first.spuid] = _Lease(*lease)
        self._of[first.spuid] = bearer

    def _forget(self, spuid: str) -> None:
        bearer = self._of.pop(spuid, None)
        if bearer is None:
            return
        lease = bearer.leases.pop(spuid)
        self.ended(bearer.access.client)
        if not bearer.leases:
            del self._bearers[_key(bearer.access)]
        told = self._told.get(lease)
        if told is not None and spuid in told:
            told.remove(spuid)
            if not told:
                del self._told[lease]

    # What time does.

    def _look(self) -> None:
        """Something may have run out."""
        now = self._now()
        for bearer in tuple(self._bearers.values()):
            if bearer.out_since is None:
                if bearer.access.expires <= now:
                    self._run_out(bearer, now)
            elif bearer.out_since + self._renew_s <= now:
                self._close(bearer, _GONE)
            elif bearer.out_since + _MOMENT_S <= now:
                self._tell(bearer)
        self._arm()

    def _changed(self) -> None:
        """Something was revoked, or permissions are others."""
        for bearer in tuple(self._bearers.values()):
            access = self._authority.still(bearer.access)
            if access is None:
                if bearer.out_since is None:
                    self._run_out(bearer, self._now())
                self._tell(bearer)
            elif Scope.SUBSCRIBE not in access.scopes:
                self._close(bearer, _NO_SCOPE)
            elif _key(access) != _key(bearer.access):
                self._close(bearer, _OTHER_RIGHTS)
            elif bearer.out_since is None:
                bearer.access = access
        self._arm()

    def _run_out(self, bearer: _Bearer, now: float) -> None:
        meters.RAN_OUT.inc()
        bearer.out_since = now
        self._outbox.withhold(
            {spuid: lease.failure(_RAN_OUT, spuid) for spuid, lease in bearer.leases.items()}
        )

    def _tell(self, bearer: _Bearer) -> None:
        bearer.was_told = True
        self._outbox.say(tuple(bearer.leases))

    def _said(self, spuid: str) -> None:
        """The client is being told that this one's token has run out."""
        self._told.setdefault(self._of[spuid].leases[spuid], []).append(spuid)

    def _close(self, bearer: _Bearer, error: tuple[str, int, str]) -> None:
        self._finish({spuid: lease.failure(error, spuid) for spuid, lease in bearer.leases.items()})

    def _finish(self, told: dict[str, Failure | None]) -> None:
        for spuid in told:
            self._forget(spuid)
        self._outbox.drop(told)
        self._end(told)

    def _arm(self) -> None:
        """Have the next moment noticed at which something runs out."""
        outs = [bearer.access.expires for bearer in self._bearers.values() if bearer.out_since is None]
        ends = [
            bearer.out_since + (self._renew_s if bearer.was_told else min(_MOMENT_S, self._renew_s))
            for bearer in self._bearers.values()
            if bearer.out_since is not None
        ]
        self._outbox.until = min(outs, default=math.inf)
        next_ = min([self._outbox.until, *ends])
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if next_ < math.inf:
            self._timer = self._loop.call_later(min(max(0.0, next_ - self._now()), _LONGEST_S), self._look)


def _client(access: Access) -> tuple[str, str]:
    return access.issuer, access.client


def _key(access: Access) -> _Key:
    return access.issuer, access.client, access.rights.read


def outbox_for(
    authority: Authority,
    limits: LimitsConfig,
    renew_s: float,
    end: Callable[[Iterable[str]], None] = lambda _: None,
) -> tuple[Outbox, Leases | None]:
    """The outbox of a connection, and what stands before it where clients have to say who they are."""
    if isinstance(authority, Nobody):
        return Outbox(limits), None
    outbox = WithholdingOutbox(limits)
    return outbox, Leases(authority, outbox, renew_s, end)
