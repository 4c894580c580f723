"""Every test of the SPARQL 1.1 Protocol, at one path for both operations and at one path for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from w3c.endpoints import QUERY, UPDATE
from w3c.exchanges import dialogues

if TYPE_CHECKING:
    from w3c.exchanges import Dialogue, Exchange

pytestmark = pytest.mark.xdist_group("w3c")

PREFIX = "/sparql/"  # what each absolute path of the manifest begins with, to be replaced by the endpoint's


@pytest.mark.parametrize(
    "dialogue", dialogues("sparql11/protocol/manifest.ttl"), ids=lambda found: found.name
)
@pytest.mark.parametrize("paths", ["one-path", "two-paths"])
def test_the_protocol_is_followed(gate, dialogue, paths):
    """Each request of the suite gets the status, format and answer that it must get."""

    def target(exchange: Exchange) -> str:
        if paths == "one-path":
            path = gate.both_path
        else:
            path = gate.update_path if is_update(dialogue, exchange) else gate.query_path
        return path + exchange.target.removeprefix(PREFIX)

    dialogue.play(gate, target, {})


def is_update(dialogue: Dialogue, exchange: Exchange) -> bool:
    """What the sender means by it, where the media type is wrong or missing too."""
    content_type = dict(exchange.headers).get("content-type", "")
    if content_type.startswith((QUERY, UPDATE)):
        return content_type.startswith(UPDATE)
    return "update" in dialogue.name.rpartition("/")[2]
