"""A leader, and brokers that follow it, each a process of its own."""

from __future__ import annotations

import pytest
from support.running import RunningBroker


class Pair:
    """A leader with a directory, and whoever follows it."""

    def __init__(self, directory):
        self.directory = directory
        self.brokers = []
        self.leader = self.lead()

    def lead(self, *arguments, port=0):
        leader = RunningBroker.start(
            "--data", str(self.directory), f"--set=http.port={port}", *arguments, memory=False
        )
        self.brokers.append(leader)
        return leader

    def follow(self, *arguments, url=None):
        follower = RunningBroker.start("--follow", url or self.leader.http, *arguments, memory=False)
        self.brokers.append(follower)
        return follower

    def stop(self):
        for broker in self.brokers:
            if broker.alive:
                broker.stop()


@pytest.fixture
def pair(tmp_path):
    one = Pair(tmp_path / "data")
    yield one
    one.stop()
