import json
import os
import stat
import threading
from pathlib import Path

import pytest

from triplewire.broker.errors import ClientError
from triplewire.clients.credentials import Credentials, CredentialsFile, default_file

URL = "https://broker:8443/oauth/token"
ANN = Credentials("Ann", "ann", "s3cret", "t0ken", 1234.5)


@pytest.fixture
def file(tmp_path):
    return CredentialsFile(tmp_path / "new" / "folder" / "credentials.json")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_kept_is_there_again(file):
    """By broker and identity."""
    bob = Credentials("Bob", "bob", "other")
    file.keep(URL, ANN)
    file.keep(URL, bob)
    file.keep("https://elsewhere/token", Credentials("Ann", "x", "y"))

    assert CredentialsFile(file.path).read(URL, "Ann") == ANN
    assert file.read(URL, "Bob") == bob
    assert file.read("https://elsewhere/token", "Ann").client_id == "x"
    assert file.identities(URL) == ["Ann", "Bob"]
    assert file.read("https://nowhere", "Ann") is None
    assert file.read(URL, "Cid") is None


def test_what_is_forgotten_is_gone(file):
    """The rest stays."""
    file.keep(URL, ANN)
    file.keep("https://elsewhere/token", ANN)

    assert file.forget(URL, "Ann")
    assert not file.forget(URL, "Ann")
    assert list(json.loads(file.path.read_text())) == ["https://elsewhere/token"]


def test_nobody_else_can_read_it(file):
    """The file and the folder that is made for it; whatever the umask, and after each change."""
    before = os.umask(0)
    try:
        file.keep(URL, ANN)
        assert (mode(file.path), mode(file.path.parent)) == (0o600, 0o700)
        file.keep(URL, Credentials("Bob", "b", "b"))
    finally:
        os.umask(before)

    assert mode(file.path) == 0o600


@pytest.mark.parametrize("others", [0o640, 0o604, 0o620, 0o602])
def test_a_file_that_others_can_use_is_refused(file, others):
    """For reading and for changing, with what to do."""
    file.keep(URL, ANN)
    file.path.chmod(others)

    for use in (lambda: file.read(URL, "Ann"), lambda: file.keep(URL, ANN), lambda: file.forget(URL, "Ann")):
        with pytest.raises(ClientError, match=r"chmod 600 .*credentials\.json") as raised:
            use()
        assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"a":1}', "{", "[" * 100_000, '{"https://broker:8443/oauth/token":{"Ann":{"s3cret":1}}}'],
)
def test_what_is_no_file_of_credentials_is_told(file, text):
    """And never overwritten, nor quoted."""
    file.path.parent.mkdir(parents=True)
    file.path.write_text(text)
    file.path.chmod(0o600)

    with pytest.raises(ClientError, match=r"credentials\.json") as raised:
        file.read(URL, "Ann")

    assert "s3cret" not in str(raised.value) + repr(raised.value.__cause__)
    assert file.path.read_text() == text


def test_a_change_is_whole_or_not_at_all(file, monkeypatch):
    """What was there stays where writing fails, and nothing lies about."""
    file.keep(URL, ANN)

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        file.keep(URL, Credentials("Bob", "b", "b"))

    assert file.identities(URL) == ["Ann"]
    assert [path.name for path in file.path.parent.iterdir()] == ["credentials.json"]


def test_many_may_keep_at_the_same_time(file):
    """Nobody's are lost."""
    names = [f"name {number}" for number in range(20)]
    threads = [
        threading.Thread(
            target=lambda name=name: CredentialsFile(file.path).keep(URL, Credentials(name, name, "s"))
        )
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert file.identities(URL) == sorted(names)


def test_a_link_stays_a_link(file, tmp_path):
    """The file that it leads to is replaced."""
    file.keep(URL, ANN)
    link = tmp_path / "link.json"
    link.symlink_to(file.path)

    CredentialsFile(link).keep(URL, Credentials("Bob", "b", "b"))

    assert link.is_symlink()
    assert file.identities(URL) == ["Ann", "Bob"]


def test_secrets_are_in_no_repr():
    """Nor the token."""
    assert "s3cret" not in repr(ANN)
    assert "t0ken" not in repr(ANN)


def test_the_default_place_is_the_users():
    """By the XDG Base Directory Specification, which has relative paths ignored."""
    assert default_file({"XDG_CONFIG_HOME": "/home/x/conf"}) == Path(
        "/home/x/conf/triplewire/credentials.json"
    )
    ours = Path("~/.config/triplewire/credentials.json").expanduser()
    assert default_file({}) == default_file({"XDG_CONFIG_HOME": "rel"}) == ours
