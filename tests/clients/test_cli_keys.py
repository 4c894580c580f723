"""`triplewire keys init`: what it makes is believed by those who have ca.pem, and by nobody else."""

from __future__ import annotations

import socket
import ssl
import threading
import tomllib
from datetime import timedelta

import pytest
from cryptography import x509

from triplewire.broker.config import load
from triplewire.clients import cli

HOSTS = (
    "--host",
    "broker.example",
    "--host",
    "192.0.2.7",
    "--host",
    "bücher.example",
    "--host",
    "*.example.org",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    directory = tmp_path_factory.mktemp("keys") / "tls"
    assert cli.run(["keys", "init", str(directory), *HOSTS]) == 0
    return directory


def shaken(made, name, *, believes=True):
    """The names of the server's certificate, after a real handshake of `name` with it."""
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(made / "server.pem", made / "server.key")
    client = ssl.create_default_context(cafile=made / "ca.pem" if believes else None)
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    one, other = socket.socketpair()

    def serve():
        try:
            with server.wrap_socket(other, server_side=True) as wrapped:
                wrapped.recv(1)
        except (ssl.SSLError, OSError):
            other.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with client.wrap_socket(one, server_hostname=name) as wrapped:
            return [value for _, value in wrapped.getpeercert()["subjectAltName"]]
    finally:
        one.close()
        thread.join()


@pytest.mark.parametrize(
    "name",
    [
        "localhost",
        "127.0.0.1",
        "::1",
        "broker.example",
        "192.0.2.7",
        "xn--bcher-kva.example",
        "a.example.org",
    ],
)
def test_a_client_that_has_the_authority_believes(made, name):
    """By strict rules, under each name, with the whole chain."""
    assert "localhost" in shaken(made, name)


@pytest.mark.parametrize("name", ["other.example", "192.0.2.8", "example.org"])
def test_under_another_name_it_is_not_believed(made, name):
    """The certificate is for its names only."""
    with pytest.raises(ssl.SSLCertVerificationError, match=r"[Mm]ismatch|not valid for"):
        shaken(made, name)


def test_without_the_authority_it_is_not_believed(made):
    """No system has it."""
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(made, "localhost", believes=False)


def test_only_their_owner_reads_the_keys(made):
    """The certificates are for everybody."""
    modes = {path.name: path.stat().st_mode & 0o777 for path in made.iterdir()}
    assert modes.pop("ca.key") == modes.pop("server.key") == 0o600
    assert set(modes) == {"ca.pem", "server.pem"}
    assert made.stat().st_mode & 0o777 == 0o700


def test_the_certificates(made):
    """Ten years and 825 days; the server's is no authority, and the authority's signs no other authority."""
    server, chained = x509.load_pem_x509_certificates((made / "server.pem").read_bytes())
    ca = x509.load_pem_x509_certificate((made / "ca.pem").read_bytes())
    assert chained == ca
    server.verify_directly_issued_by(ca)
    assert ca.not_valid_after_utc - ca.not_valid_before_utc == timedelta(days=3650)
    assert server.not_valid_after_utc - server.not_valid_before_utc == timedelta(days=825)
    constraints = [one.extensions.get_extension_for_class(x509.BasicConstraints) for one in (ca, server)]
    assert [(one.critical, one.value.ca, one.value.path_length) for one in constraints] == [
        (True, True, 0),
        (True, False, None),
    ]


def test_what_is_printed_is_for_the_settings(tmp_path, capsys):
    """It can be put into broker.toml as it is; the secrets are not in it."""
    directory = tmp_path / 'a "quoted" place'
    assert cli.run(["keys", "init", str(directory)]) == 0
    printed = capsys.readouterr().out
    assert str(directory / "ca.pem") in printed
    assert "PRIVATE" not in printed
    settings = tomllib.loads(printed)
    assert settings["tls"]["certificate"] == str(directory / "server.pem")
    (tmp_path / "broker.toml").write_text(printed)
    assert load(tmp_path / "broker.toml", environment={}).tls.key == str(directory / "server.key")


@pytest.mark.parametrize("name", ["ca.pem", "ca.key", "server.pem", "server.key"])
def test_nothing_is_overwritten(tmp_path, capsys, name):
    """Not even a link that leads nowhere; and nothing is made beside it."""
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    assert cli.run(["keys", "init", str(tmp_path)]) == 1
    assert f"{tmp_path} has {name} already" in capsys.readouterr().err.replace("\n", " ")
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("host", ["a b", "", "a..b", "http://x", "x" * 64 + ".ü", "a/b"])
def test_a_host_that_is_none(tmp_path, capsys, host):
    """It is told, and nothing is made."""
    assert cli.run(["keys", "init", str(tmp_path / "tls"), "--host", host]) == 2
    assert "is neither a name nor an address" in capsys.readouterr().err
    assert not (tmp_path / "tls").exists()


@pytest.mark.parametrize(("name", "there"), [("a_host.local", True), ("no host", False), ("", False)])
def test_this_host_is_in_it(tmp_path, capsys, monkeypatch, name, there):
    """Where it has a name that a certificate can have."""
    monkeypatch.setattr(socket, "gethostname", lambda: name)
    assert cli.run(["keys", "init", str(tmp_path / "tls")]) == 0
    server = x509.load_pem_x509_certificates((tmp_path / "tls" / "server.pem").read_bytes())[0]
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", *([name] if there else [])]
