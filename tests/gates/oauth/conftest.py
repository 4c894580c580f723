"""Authorization servers of real parts for the tests of this folder."""

from __future__ import annotations

import pytest

from .office import Office, opened


@pytest.fixture
async def office(tmp_path):
    async with opened(tmp_path) as office:
        yield office


@pytest.fixture
async def offices(tmp_path):
    """Makes servers with other settings on the same folder, one at a time."""
    made = []

    def make(**settings):
        for earlier in made:
            earlier.close()
        made.clear()
        made.append(Office(tmp_path, settings))
        return made[0]

    yield make
    for office in made:
        office.close()
