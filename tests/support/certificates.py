"""Certificates for brokers of tests: an authority made on the spot, and as many certificates of it as are wanted."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from pathlib import Path

_DAY = dt.timedelta(days=1)


class LocalAuthority:
    """Keeps its files in `directory`: `ca`, and what `certify` has made last as `certificate` and `key`."""

    def __init__(self, directory: Path) -> None:
        self.ca = directory / "ca.pem"
        self.certificate = directory / "server.pem"
        self.key = directory / "server.key"
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Triplewire's tests")])
        basic = x509.BasicConstraints(ca=True, path_length=0)
        made = self._builder(self._name, self._key.public_key()).add_extension(basic, critical=True)
        self._made = made.sign(self._key, hashes.SHA256())
        self.ca.write_bytes(self._made.public_bytes(serialization.Encoding.PEM))
        self.certify()

    def certify(self, name: str = "localhost") -> int:
        """A new key and certificate in place of the old ones, good for 127.0.0.1 too; its serial number."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        builder = self._builder(subject, key.public_key())
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        made = builder.add_extension(identifier, critical=False).sign(self._key, hashes.SHA256())
        self.certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        self.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return made.serial_number

    def context(self) -> ssl.SSLContext:
        """For a client that trusts this authority alone."""
        return ssl.create_default_context(cafile=str(self.ca))

    def settings(self) -> tuple[str, ...]:
        """The arguments of a broker that has the certificate, on free ports."""
        settings = (
            f"tls.certificate={self.certificate}",
            f"tls.key={self.key}",
            "tls.https_port=0",
            "tls.wss_port=0",
            "tls.stream_port=0",
        )
        return tuple(part for setting in settings for part in ("--set", setting))

    def _builder(self, subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name)
        builder = builder.public_key(public).serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - _DAY).not_valid_after(now + _DAY)
        subject_key = x509.SubjectKeyIdentifier.from_public_key(public)
        return builder.add_extension(subject_key, critical=False)
