import pytest
from support.running import RunningBroker

from triplewire.broker.errors import BrokerRefused
from triplewire.clients import ClientCredentials, ClientSettings, SparqlClient
from triplewire.clients.addresses import Addresses
from triplewire.clients.cli_keys import keys
from triplewire.clients.notebook import Live, query
from triplewire.clients.notebook.access import tokens_for

PERMISSIONS = """
[clients.Ann]
scopes = ["query", "update", "subscribe"]
read = ["*"]
write = ["*"]

[clients.Reader]
scopes = ["query"]
read = ["*"]
"""


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    """A broker that asks who they are, over TLS, and the file of its authority."""
    folder = tmp_path_factory.mktemp("secure")
    keys.main(["init", str(folder / "tls")], standalone_mode=False)
    (folder / "permissions.toml").write_text(PERMISSIONS)
    settings = {
        "security.enabled": "true",
        "security.reregistration": "true",
        "security.directory": folder / "security",
        "security.permissions": folder / "permissions.toml",
        "tls.certificate": folder / "tls" / "server.pem",
        "tls.key": folder / "tls" / "server.key",
        "tls.https_port": 0,
        "tls.wss_port": 0,
    }
    running = RunningBroker.start(*(f"--set={name}={value}" for name, value in settings.items()))
    yield running, ClientSettings(ca_file=str(folder / "tls" / "ca.pem"), timeout_s=10, retries=1)
    assert running.stop() == 0


@pytest.fixture
def registered(secure):
    """Registers an identity, and keeps its credentials where the user's are."""
    broker, settings = secure
    at = Addresses.of(broker.https)

    def register(identity):
        ClientCredentials(identity, at.register, at.token, settings=settings).register()
        return identity

    return register


def test_an_identity_is_enough(secure, registered):
    """To ask and to follow; the answer is the identity's."""
    broker, settings = secure
    ann = registered("Ann")
    select = "SELECT ?o { <urn:s> <urn:p> ?o }"
    with (
        Live(broker.https, select, identity=ann, settings=settings) as live,
        SparqlClient(
            broker.https, authorization=tokens_for(broker.https, ann, None, settings), settings=settings
        ) as client,
    ):
        client.update("INSERT DATA { <urn:s> <urn:p> 1 }")
        assert live.wait(timeout_s=10)["o"].tolist() == [1]

    assert query(broker.https, select, identity=ann, settings=settings)["o"].tolist() == [1]


def test_what_an_identity_may_not_do_is_refused(secure, registered):
    """And whoever says nothing is, too."""
    broker, settings = secure
    reader = registered("Reader")

    with pytest.raises(BrokerRefused) as refused:
        Live(broker.https, "ASK {}", identity=reader, settings=settings)
    assert refused.value.status == 403
    with pytest.raises(BrokerRefused) as unknown:
        query(broker.https, "ASK {}", settings=settings)
    assert unknown.value.status == 401


def test_one_way_to_have_tokens():
    """Two would be a riddle; and a WebSocket's URL does not say where tokens are."""
    with pytest.raises(ValueError, match="exclude each other"):
        tokens_for("http://localhost:8000", "Ann", lambda: "token", None)
    with pytest.raises(ValueError, match="http"):
        tokens_for("ws://localhost:9000/subscribe", "Ann", None, None)
    assert tokens_for("ws://localhost:9000/subscribe", None, None, None) is None
