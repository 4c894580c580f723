"""`triplewire keys`: a certificate authority and a certificate of one's own, for trying TLS."""

from __future__ import annotations

import ipaddress
import json
import os
import socket
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

_AUTHORITY_DAYS = 3650
# Apple's clients take none that is good for longer.
_SERVER_DAYS = 825
_EARLIER = timedelta(hours=1)  # clients whose clock is behind take it at once
_LOCAL = ("localhost", "127.0.0.1", "::1")
_NAME_CHARS = 64  # of a common name (RFC 5280, A.1)
_FILES = ("ca.pem", "ca.key", "server.pem", "server.key")


@click.group()
def keys() -> None:
    """Make what TLS needs."""


@keys.command()
@click.argument("directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--host",
    "hosts",
    metavar="NAME",
    multiple=True,
    help="A name or address that clients call the broker by.",
)
def init(directory: Path, hosts: tuple[str, ...]) -> None:
    """Make a certificate authority and a certificate for this host; nothing that is there is overwritten."""
    there = [name for name in _FILES if os.path.lexists(directory / name)]
    if there:
        raise click.ClickException(f"{directory} has {', '.join(there)} already; nothing was changed")
    names = list(dict.fromkeys([*_LOCAL, *_own_name(), *hosts]))
    made = _make(names)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, content in made.items():
        _write(directory / name, content, private=name.endswith(".key"))
    print(_advice(directory.resolve(), names))


def _own_name() -> list[str]:
    """This host's name, where it is one that a certificate can have."""
    name = socket.gethostname()
    try:
        _alternative(name)
    except click.BadParameter:
        return []
    return [name]


@dataclass(frozen=True, slots=True)
class _Pair:
    """A certificate and the key it is of."""

    certificate: x509.Certificate
    key: EllipticCurvePrivateKey


def _make(names: list[str]) -> dict[str, bytes]:
    """The contents of _FILES."""
    authority = _authority()
    server = _server(authority, names)
    ca, ca_key = _pem(authority)
    certificate, key = _pem(server)
    return {"ca.pem": ca, "ca.key": ca_key, "server.pem": certificate + ca, "server.key": key}


def _authority() -> _Pair:
    from cryptography import x509  # noqa: PLC0415 - so that other commands need not load it
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    # A serial number in the name: clients that know an older one must not take this for it
    name = _name(f"Triplewire {x509.random_serial_number():x}")
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        _begun(name, name, key, _AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )
    return _Pair(certificate, key)


def _server(authority: _Pair, names: list[str]) -> _Pair:
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    from cryptography.x509.oid import ExtendedKeyUsageOID  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    certificate = (
        _begun(_name(names[0]), authority.certificate.subject, key, _SERVER_DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(issuer, critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return _Pair(certificate, key)


def _begun(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    from cryptography import x509  # noqa: PLC0415

    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now - _EARLIER + timedelta(days=days))
    )


def _name(text: str) -> x509.Name:
    from cryptography import x509  # noqa: PLC0415

    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text[:_NAME_CHARS])])


def _alternative(name: str) -> x509.GeneralName:
    """A name or an address; names that are not ASCII as IDNA has them.

    Raises:
        click.BadParameter: it is neither.
    """
    from cryptography import x509  # noqa: PLC0415

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        pass
    try:
        return x509.DNSName(name.encode("idna").decode("ascii") if not name.isascii() else _dns(name))
    except ValueError as error:
        raise click.BadParameter(f"{name!r} is neither a name nor an address", param_hint="--host") from error


def _dns(name: str) -> str:
    labels = name.removeprefix("*.").split(".")
    if not all(label and label.replace("-", "").replace("_", "").isalnum() for label in labels):
        raise ValueError(name)
    return name


def _pem(pair: _Pair) -> tuple[bytes, bytes]:
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    certificate = pair.certificate.public_bytes(Encoding.PEM)
    return certificate, pair.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _write(path: Path, content: bytes, *, private: bool) -> None:
    # O_EXCL: neither another's file nor a link that waits there
    mode = 0o600 if private else 0o644
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(fd, "wb") as file:
        file.write(content)


def _advice(directory: Path, names: list[str]) -> str:
    ca = directory / "ca.pem"
    return f"""\
# A certificate for {", ".join(names)}; it is good for {_SERVER_DAYS} days.
# Into broker.toml:
[tls]
certificate = {json.dumps(str(directory / "server.pem"))}
key = {json.dumps(str(directory / "server.key"))}

# Clients need {ca}: --ca or TRIPLEWIRE_CA for ours, --cacert for curl.
# Whoever has {directory / "ca.key"} can make certificates that they believe: keep it elsewhere, or delete it."""
