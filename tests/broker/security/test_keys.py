"""The folder of signing keys: made, rotated, kept for as long as tokens need them, never in two brokers' way."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time

import pytest
from support.authorities import Clock

from triplewire.broker.config import SecurityConfig
from triplewire.broker.errors import ConfigError, TooManyRequests
from triplewire.broker.security.keys import Keys


@pytest.fixture
def clock():
    return Clock()


def keys_in(directory, clock, **settings):
    return Keys(directory, SecurityConfig(**({"algorithm": "ES256"} | settings)), clock)


def mode_of(path):
    return path.stat().st_mode & 0o777


def kids(keys):
    return [jwk["kid"] for jwk in keys.jwks()["keys"]]


def test_the_first_start_makes_a_key_that_later_starts_find(tmp_path, clock):
    """One file, the same kid."""
    first = keys_in(tmp_path / "security", clock)
    again = keys_in(tmp_path / "security", clock)
    assert first.current.kid == again.current.kid
    assert kids(again) == [first.current.kid]


def test_nobody_else_can_read_them(tmp_path, clock):
    """Folders 700, files 600, whatever the umask is."""
    before = os.umask(0)
    try:
        keys_in(tmp_path / "a" / "security", clock)
    finally:
        os.umask(before)
    folder = tmp_path / "a" / "security" / "keys"
    assert (mode_of(folder), mode_of(folder.parent)) == (0o700, 0o700)
    assert {mode_of(path) for path in folder.iterdir()} == {0o600}


def test_files_that_are_open_to_others_are_closed_and_told(tmp_path, clock, caplog):
    """A copy, or a volume's driver, may have loosened them."""
    kid = keys_in(tmp_path, clock).current.kid
    path = next((tmp_path / "keys").glob("*.pem"))
    path.chmod(0o644)
    with caplog.at_level(logging.WARNING):
        assert keys_in(tmp_path, clock).current.kid == kid
    assert mode_of(path) == 0o600
    assert str(path) in caplog.text


def test_rotation_with_overlap(tmp_path, clock):
    """The old key verifies until its tokens have expired, and then its file is gone."""
    keys = keys_in(tmp_path, clock, token_s=60.0)
    old = keys.current
    clock.now += 5
    new = keys.rotate()
    assert keys.current is new
    assert kids(keys) == [new.kid, old.kid]
    clock.now += 59.9
    assert keys.find(old.kid) is not None
    clock.now += 0.2
    assert keys.find(old.kid) is None
    assert kids(keys) == [new.kid]
    assert [path.name for path in (tmp_path / "keys").glob("*.pem")] == [f"{1_800_000_005_000}-{new.kid}.pem"]


def test_overlap_survives_a_restart(tmp_path, clock):
    """What was signed by the old key is still good after it."""
    old = keys_in(tmp_path, clock, token_s=60.0).current
    keys_in(tmp_path, clock, token_s=60.0).rotate()
    again = keys_in(tmp_path, clock, token_s=60.0)
    assert again.find(old.kid) is not None
    clock.now += 61
    assert keys_in(tmp_path, clock, token_s=60.0).find(old.kid) is None


def test_an_old_key_is_followed_by_itself(tmp_path, clock):
    """After security.key_s, when the next token is signed."""
    keys = keys_in(tmp_path, clock, key_s=100.0, token_s=10.0)
    first = keys.current
    clock.now += 99
    assert keys.current is first
    clock.now += 1
    assert keys.current is not first
    assert first.kid in kids(keys)


def test_a_key_s_of_zero_is_never(tmp_path, clock):
    """The key stays until it is told to go."""
    keys = keys_in(tmp_path, clock, key_s=0.0)
    first = keys.current
    clock.now += 1e9
    assert keys.current is first


def test_another_algorithm_makes_another_key(tmp_path, clock):
    """Tokens of the old one stay good."""
    old = keys_in(tmp_path, clock).current
    keys = keys_in(tmp_path, clock, algorithm="RS256")
    assert keys.current.algorithm == "RS256"
    assert keys.find(old.kid) is not None


def test_rotations_are_bounded(tmp_path, clock):
    """Whoever may rotate can't fill the disk, and can go on when tokens have expired."""
    keys = keys_in(tmp_path, clock, token_s=60.0)
    for _ in range(15):
        keys.rotate()
    with pytest.raises(TooManyRequests):
        keys.rotate()
    assert len(kids(keys)) == 16
    clock.now += 61
    keys.rotate()
    assert len(kids(keys)) == 2


def test_a_clock_that_goes_back_makes_no_old_key_current(tmp_path, clock):
    """The newest is the one made last."""
    keys = keys_in(tmp_path, clock)
    clock.now -= 1000
    new = keys.rotate()
    assert keys.current is new
    assert keys_in(tmp_path, clock).current.kid == new.kid


def test_another_broker_s_new_key_is_found(tmp_path, clock):
    """Two brokers with one folder: an unknown kid has it read again, but not at every token."""
    one, other = keys_in(tmp_path, clock), keys_in(tmp_path, clock)
    assert one.find("unknown") is None
    new = other.rotate()
    assert one.find(new.kid) is None  # it has just looked
    clock.now += 1.1
    assert one.find(new.kid) is not None
    assert one.current.kid == new.kid


@pytest.mark.parametrize("kid", ["", "../../etc/passwd", "/etc/passwd", "x\0y", "*", "a" * 8000])
def test_a_kid_is_never_a_path(tmp_path, clock, kid):
    """It is compared with those that are known, and nothing is opened by it."""
    assert keys_in(tmp_path, clock).find(kid) is None


def test_for_sepa_is_the_current_public_key(tmp_path, clock):
    """As its answer to a registration has it."""
    keys = keys_in(tmp_path, clock, algorithm="RS256")
    assert set(keys.for_sepa()) == {"kty", "e", "n", "kid"}
    assert keys.for_sepa()["kid"] == keys.current.kid
    assert set(keys_in(tmp_path / "ec", clock).for_sepa()) == {"kty", "crv", "x", "y", "kid"}


def test_a_file_that_is_no_key_stops_the_start(tmp_path, clock):
    """With its path."""
    keys_in(tmp_path, clock)
    path = tmp_path / "keys" / f"1-{'a' * 43}.pem"
    path.write_text("nonsense")
    with pytest.raises(ConfigError, match=str(path)):
        keys_in(tmp_path, clock)


def test_a_folder_that_can_t_be_written_stops_the_start(tmp_path, clock):
    """By the setting's name."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"security\.directory"):
        keys_in(tmp_path / "file", clock)


def test_what_is_left_of_a_death_is_no_key(tmp_path, clock):
    """A file that was never whole has another name, and other files are nobody's business."""
    kid = keys_in(tmp_path, clock).current.kid
    (tmp_path / "keys" / f"{2_000_000_000_000}-{'a' * 43}.new").write_bytes(b"-----BEGIN")
    (tmp_path / "keys" / "README").write_text("hello")
    assert keys_in(tmp_path, clock).current.kid == kid


def test_a_key_that_can_t_be_kept_is_not_used(tmp_path, clock, monkeypatch):
    """The old one goes on, and the disk is not asked again at every token."""
    keys = keys_in(tmp_path, clock, key_s=100.0)
    first, tried = keys.current, []

    def full(*_):
        tried.append(1)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("triplewire.broker.security.keys._write", full)
    clock.now += 101
    assert keys.current is first
    assert keys.current is first
    assert len(tried) == 1
    monkeypatch.undo()
    clock.now += 61
    assert keys.current is not first


STARTING = """
import sys
import threading
import time
from pathlib import Path
from triplewire.broker.config import SecurityConfig
from triplewire.broker.security.keys import Keys
sys.stdin.readline()
print(*(jwk["kid"] for jwk in Keys(Path(sys.argv[1]), SecurityConfig()).jwks()["keys"]), flush=True)
"""


def test_brokers_that_start_at_once_share_one_key(tmp_path):
    """Nobody's key is overwritten: all have made or found the same."""
    starting = [
        subprocess.Popen(
            [sys.executable, "-P", "-c", STARTING, str(tmp_path / "security")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in starting:
        process.stdin.write("go\n")
        process.stdin.flush()
    said = {process.communicate(timeout=60)[0].strip() for process in starting}
    (path,) = (tmp_path / "security" / "keys").glob("*.pem")
    assert said == {path.stem.partition("-")[2]}


def test_signing_and_checking_on_two_threads(tmp_path):
    """While keys come and go no token's key is missed, and no new key is lost."""
    keys = Keys(tmp_path, SecurityConfig(algorithm="ES256", key_s=0.02, token_s=0.5))
    missed, done = [], threading.Event()

    def checks():
        while not done.is_set():
            keys.jwks()
            kid = keys.current.kid
            if keys.find(kid) is None:
                missed.append(kid)

    checking = threading.Thread(target=checks)
    checking.start()
    seen = []
    ends = time.monotonic() + 1.5
    while time.monotonic() < ends:
        key = keys.current
        if not seen or seen[-1] is not key:
            seen.append(key)
    done.set()
    checking.join()
    assert missed == []
    assert len(seen) > 20
    assert [key.created for key in seen] == sorted(key.created for key in seen)
    assert len({key.kid for key in seen}) == len(seen)


def test_keys_that_follow_each_other_fast_are_bounded(tmp_path, clock):
    """A key_s that is far too short for token_s makes sixteen of them, and then waits."""
    keys = keys_in(tmp_path, clock, key_s=1.0, token_s=3600.0)
    for _ in range(40):
        clock.now += 1
        assert keys.find(keys.current.kid)
    assert len(kids(keys)) == 16
