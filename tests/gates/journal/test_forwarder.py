import pytest

from triplewire.broker.config import FollowConfig, PathsConfig
from triplewire.broker.errors import Forbidden
from triplewire.broker.model import GraphEdit, GraphWrite, Update
from triplewire.broker.rights import ALL, Rights
from triplewire.gates.journal.forwarder import Forwarder


class Follower:
    auth = None


@pytest.mark.parametrize("rights", [Rights(write=frozenset()), Rights(read=frozenset({"urn:g"}))])
async def test_what_only_the_leader_can_judge_is_refused(rights):
    """It would not know who sent it, and take it as this broker's own."""
    forwarder = Forwarder(FollowConfig(url="http://leader:8000"), PathsConfig(), Follower())
    try:
        for request in (
            Update("CLEAR ALL", rights=rights),
            GraphWrite(GraphEdit.DROP, None, rights=rights),
        ):
            with pytest.raises(Forbidden, match=r"follows http://leader:8000.*send the update there"):
                await forwarder.submit(request)
    finally:
        await forwarder.close()
    assert rights != ALL
