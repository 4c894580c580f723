"""The file of clients and revocations: what it keeps over a restart, and who may read it."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from triplewire.broker.errors import ConfigError, EngineError, NotFound, Overloaded, Unauthorized
from triplewire.broker.security import clients as module
from triplewire.broker.security.clients import NAME, Clients

NOW = 1_800_000_000.0
NAMES = ["sensor", "a:b:c", "'; DROP TABLE clients; --", "' OR '1'='1", "Größe", "%_\\", "x" * 256, "a/../b"]


class Clock:
    now = NOW

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "security"


@pytest.fixture
def clients(folder, clock):
    opened = Clients(folder, now=clock)
    yield opened
    opened.close()


def reopened(clients, folder, clock, **settings):
    clients.close()
    return Clients(folder, now=clock, **settings)


@pytest.mark.parametrize("identity", NAMES)
def test_a_client_is_found_by_its_identity(clients, identity):
    """Whatever is in the name; nobody else is."""
    assert clients.find(identity) is None
    clients.add(identity, "hash")
    clients.add("other", "another hash")
    found = clients.find(identity)
    assert (found.client_id, found.identity, found.secret_hash) == (identity, identity, "hash")
    assert found.registered_at == NOW and found.revoked_at is None
    assert clients.find("other").secret_hash == "another hash"
    assert len(clients.page()) == 2


def test_its_hash_is_not_shown(clients):
    """Neither by repr nor by str."""
    clients.add("sensor", "the hash")
    assert "the hash" not in repr(clients.find("sensor")) + str(clients.page())


def test_one_registration_of_an_identity(clients):
    """Unless the policy gives another secret."""
    clients.check("sensor")
    clients.add("sensor", "first")
    for attempt in (clients.check, lambda identity: clients.add(identity, "second")):
        with pytest.raises(Unauthorized, match="may not register") as refused:
            attempt("sensor")
        assert refused.value.code == "not_authorized_identity"
    assert clients.find("sensor").secret_hash == "first"
    clients.check("sensor", again=True)
    clients.add("sensor", "second", again=True)
    assert clients.find("sensor").secret_hash == "second"
    assert len(clients.page()) == 1


def test_of_many_that_register_one_identity_at_once_one_wins(clients):
    """Whichever."""

    def attempt(number):
        try:
            clients.add("sensor", f"hash {number}")
        except Unauthorized:
            return None
        return f"hash {number}"

    with ThreadPoolExecutor(8) as pool:
        won = [made for made in pool.map(attempt, range(64)) if made is not None]
    assert won == [clients.find("sensor").secret_hash]


def test_a_revoked_client_is_none_and_its_tokens_are_no_good(clients, clock):
    """Those to come as well: nobody could have got one."""
    clients.add("sensor", "hash")
    clients.add("other", "hash")
    assert not clients.is_revoked("sensor", "jti", NOW)
    clients.revoke("sensor")
    assert clients.find("sensor") is None
    assert clients.is_revoked("sensor", "jti", NOW - 100)
    assert clients.is_revoked("sensor", "jti", NOW + 100)
    assert not clients.is_revoked("other", "jti", NOW - 100)
    assert [client.revoked_at for client in clients.page()] == [None, NOW]
    clock.now += 10
    clients.revoke("sensor")
    assert clients.page()[1].revoked_at == NOW


@pytest.mark.parametrize("again", [False, True])
def test_a_revoked_identity_does_not_register_again(clients, again):
    """Whatever the policy: an administrator has to let it."""
    clients.add("sensor", "hash")
    clients.revoke("sensor")
    with pytest.raises(Unauthorized, match="may not register"):
        clients.add("sensor", "new", again=again)
    with pytest.raises(Unauthorized, match="may not register"):
        clients.check("sensor", again=again)


def test_a_readmitted_identity_registers_again(clients, clock):
    """What it had before the revocation stays no good."""
    clients.add("sensor", "hash")
    clock.now += 10
    clients.revoke("sensor", readmit=True)
    assert clients.find("sensor") is None
    clients.add("sensor", "new")
    assert clients.find("sensor").secret_hash == "new"
    assert clients.is_revoked("sensor", "old", NOW + 10)
    assert not clients.is_revoked("sensor", "young", NOW + 10.001)


def test_who_is_not_there_is_not_revoked(clients):
    """And it is said."""
    for readmit in (False, True):
        with pytest.raises(NotFound):
            clients.revoke("nobody", readmit=readmit)
    assert not clients.is_revoked("nobody", "jti", NOW)


def test_one_token_is_revoked_until_it_expires(clients, clock):
    """The others of the client are not; what has expired is not kept."""
    clients.revoke_token("sensor", "one", NOW + 50)
    clients.revoke_token("sensor", "expired", NOW - 1)
    clients.revoke_token("sensor", "one", NOW + 50)
    assert clients.is_revoked("sensor", "one", NOW)
    assert not clients.is_revoked("sensor", "two", NOW)
    assert not clients.is_revoked("sensor", "expired", NOW)
    clock.now += 100
    clients.revoke_token("sensor", "three", NOW + 200)
    assert list(clients._tokens) == ["three"]


def test_more_revoked_tokens_than_are_kept_are_all_of_the_client(clients, monkeypatch):
    """Nothing that was revoked is ever good again, and no other client suffers."""
    monkeypatch.setattr(module, "_TOKENS", 3)
    for number in range(5):
        clients.revoke_token("busy", f"jti {number}", NOW + 100)
    assert all(clients.is_revoked("busy", f"jti {number}", NOW) for number in range(5))
    assert clients.is_revoked("busy", "never revoked by itself", NOW)
    assert not clients.is_revoked("busy", "younger", NOW + 1)
    assert not clients.is_revoked("other", "jti", NOW)
    assert len(clients._tokens) == 3


def test_all_is_kept_over_a_restart(clients, folder, clock):
    """Clients, revoked clients, tokens, and what was revoked before a time."""
    for identity in ("kept", "revoked", "readmitted"):
        clients.add(identity, f"hash of {identity}")
    clients.revoke("revoked")
    clients.revoke("readmitted", readmit=True)
    clients.revoke_token("kept", "one", NOW + 50)
    again = reopened(clients, folder, clock)
    try:
        assert again.find("kept").secret_hash == "hash of kept"
        assert again.find("revoked") is None
        assert again.is_revoked("revoked", "x", NOW + 1)
        assert again.is_revoked("readmitted", "x", NOW)
        assert not again.is_revoked("readmitted", "x", NOW + 1)
        assert again.is_revoked("kept", "one", NOW)
        assert not again.is_revoked("kept", "two", NOW)
    finally:
        again.close()


def test_only_its_owner_can_read_it(clients, folder):
    """Also what SQLite puts beside it."""
    clients.add("sensor", "hash")
    assert folder.stat().st_mode & 0o777 == 0o700
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert NAME in modes
    assert set(modes.values()) == {0o600}


def test_a_file_that_others_could_read_is_closed_to_them(clients, folder, clock):
    """As when it was copied."""
    clients.close()
    (folder / NAME).chmod(0o644)
    reopened(clients, folder, clock).close()
    assert (folder / NAME).stat().st_mode & 0o777 == 0o600


def test_two_brokers_can_not_have_one_file(clients, folder):
    """The second would not hear of the first's revocations; it is told so."""
    with pytest.raises(ConfigError, match=r"security\.directory: .*clients\.db can't be used.*locked"):
        Clients(folder, lock_s=0.05)
    clients.close()
    Clients(folder, lock_s=0.05).close()


def test_a_file_of_a_newer_version(clients, folder):
    """The start stops, and nothing is changed."""
    clients.close()
    database = sqlite3.connect(folder / NAME)
    database.execute("PRAGMA user_version = 2")
    database.close()
    with pytest.raises(
        ConfigError, match="is of version 2, written by a newer broker; this one reads up to 1"
    ):
        Clients(folder)


@pytest.mark.parametrize("content", [b"this is no database, it is a text of more than a hundred bytes" * 3])
def test_a_file_that_is_something_else(folder, content):
    """The start stops, and nothing is changed."""
    folder.mkdir()
    (folder / NAME).write_bytes(content)
    with pytest.raises(ConfigError, match=r"clients\.db can't be used"):
        Clients(folder)
    assert (folder / NAME).read_bytes() == content


def test_a_place_that_is_none(tmp_path):
    """A file where the directory should be."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"security\.directory"):
        Clients(tmp_path / "file")


def test_clients_have_an_end(folder, clock):
    """One more is refused; a new secret for one that is there is not."""
    clients = Clients(folder, most=2, now=clock)
    try:
        clients.add("one", "hash")
        clients.add("two", "hash")
        with pytest.raises(Overloaded, match=r"security\.clients") as refused:
            clients.add("three", "hash")
        assert refused.value.code == "storing_credentials"
        clients.add("two", "other hash", again=True)
        assert len(clients.page()) == 2
    finally:
        clients.close()


def test_pages_are_in_the_order_of_ids(clients):
    """None twice, none left out."""
    names = sorted(f"client {number}" for number in range(25))
    for name in names:
        clients.add(name, "hash")
    found, after = [], ""
    while page := clients.page(after, 10):
        assert len(page) <= 10
        found += [client.client_id for client in page]
        after = found[-1]
    assert found == names


def test_a_write_that_fails_changes_nothing(clients):
    """Neither on the disk nor in memory; the sender hears no details."""
    clients.add("sensor", "hash")
    clients._database.execute("PRAGMA query_only = ON")
    for write in (
        lambda: clients.add("new", "hash"),
        lambda: clients.revoke("sensor"),
        lambda: clients.revoke_token("sensor", "jti", NOW + 50),
    ):
        with pytest.raises(EngineError, match=r"^the clients can't be stored$"):
            write()
    clients._database.execute("PRAGMA query_only = OFF")
    assert clients.find("new") is None
    assert clients.find("sensor") is not None
    assert not clients.is_revoked("sensor", "jti", NOW)
    clients.add("new", "hash")
    assert clients.find("new") is not None
