"""Connections that do not follow: how many there may be, and that none stays that says nothing."""

from __future__ import annotations

import math
import socket

import pytest

from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import Overloaded
from triplewire.gates.quotas import Quotas
from triplewire.gates.stream.accounts import OwnAccounts
from triplewire.gates.stream.connections import Connections


class Transport:
    """Of one end of a pair of sockets, or of a client somewhere."""

    def __init__(self, opened, peer):
        self._told = {"socket": opened, "peername": peer}

    def get_extra_info(self, name):
        return self._told[name]


class Connection:
    """What is known of one here."""

    place = None
    address = None
    deadline = math.inf
    was_cut = False

    def __init__(self, opened=None, peer=("127.0.0.1", 1)):
        self.transport = Transport(opened, peer)

    def cut(self):
        self.was_cut = True


def connections_of(**limits):
    config = LimitsConfig(**limits)
    return Connections(config, OwnAccounts(Quotas(config), config))


def test_as_many_as_may_be():
    """One too many is refused, and still known until it has gone."""
    there = connections_of(sockets=2)
    first, second, third = Connection(), Connection(), Connection()
    there.add(first)
    there.add(second)
    with pytest.raises(Overloaded):
        there.add(third)
    assert (len(there), there.shed) == (3, 1)
    there.remove(third)
    there.remove(first)
    there.remove(first)
    there.add(Connection())
    assert len(there) == 2


def test_each_address_for_itself():
    """What has no address, as on a Unix socket, is on nobody's account."""
    there = connections_of(address_sockets=1)
    first = Connection()
    there.add(first)
    there.add(Connection(peer=("127.0.0.2", 1)))
    there.add(Connection(peer=""))
    there.add(Connection(peer=""))
    with pytest.raises(Overloaded):
        there.add(Connection())
    there.remove(first)
    there.add(Connection())


def test_those_whose_time_is_over_are_cut():
    """And no others."""
    there = connections_of()
    late, early = Connection(), Connection()
    late.deadline = 10.0
    there.add(late)
    there.add(early)
    there.expire(10.0)
    assert not late.was_cut
    there.expire(10.1)
    assert (late.was_cut, early.was_cut) == (True, False)
    there.cut()
    assert early.was_cut


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="Linux has it")
@pytest.mark.parametrize(("send_s", "expected"), [(60.0, 60_000), (0.0, 0)])
def test_what_the_kernel_is_told(send_s, expected):
    """How long a peer may take nothing; 0 is its own patience."""
    with socket.socket() as opened:
        connections_of(send_s=send_s).add(Connection(opened))
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == expected
        assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
