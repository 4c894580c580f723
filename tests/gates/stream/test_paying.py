"""A publisher's bytes are counted once, whatever way its request ends."""

from __future__ import annotations

import asyncio

import pytest

from triplewire.broker.errors import TooManyRequests
from triplewire.gates.stream import paying as module
from triplewire.gates.stream.paying import Paying


class Accounts:
    """Counts; refuses so many requests first."""

    def __init__(self, refusals=0):
        self.bytes = 0
        self.refusals = refusals

    def counts(self, client, address):
        return bool(client or address)

    def received(self, _client, _address, size):
        self.bytes += size

    def request(self, _client, _address):
        if self.refusals:
            self.refusals -= 1
            raise TooManyRequests("slowly")


class Connection:
    """With or without an address."""

    lost = False

    def __init__(self, address="127.0.0.1"):
        self.address = address


class Body:
    """So much has come."""

    size = 0


async def test_all_bytes_once():
    """Those that were told while they came, and the rest at the end."""
    accounts, body = Accounts(), Body()
    paying = Paying(accounts, "c", Connection(), body)
    body.size = 100
    await paying.came(100)
    body.size = 130
    paying.settle()
    assert accounts.bytes == 130


async def test_who_owes_waits(monkeypatch):
    """As long as it is told to, unless it has gone: what it sent is taken all the same."""
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(module.asyncio, "sleep", sleep)
    accounts, connection = Accounts(refusals=2), Connection()
    await Paying(accounts, "c", connection, Body()).came(10)
    assert slept == [1, 1]
    accounts.refusals = 1000
    connection.lost = True
    await Paying(accounts, "c", connection, Body()).came(10)
    assert slept == [1, 1]


async def test_nobody_in_particular_is_not_counted():
    """Where there are no limits there is nothing to do."""
    accounts = Accounts(refusals=1000)
    async with asyncio.timeout(1):
        await Paying(accounts, "", Connection(None), Body()).came(10)
    assert accounts.bytes == 0


def test_the_double_refuses():
    """As quotas do."""
    with pytest.raises(TooManyRequests):
        Accounts(refusals=1).request("c", None)
