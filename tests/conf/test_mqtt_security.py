"""TLS and passwords towards a real MQTT broker."""

from __future__ import annotations

import asyncio
import datetime as dt
import gc
import ipaddress
import shutil
import subprocess

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from support.applications import running, until

from triplewire.conf.monitoring.mqtt_link import MqttLink
from triplewire.conf.monitoring.mqtt_settings import MqttSettings, Tls

DAY = dt.timedelta(days=1)


@pytest.fixture
def certificate(tmp_path):
    """A certificate for 127.0.0.1 that vouches for itself, and its key: the paths of their files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(
            name, name, key.public_key(), x509.random_serial_number(), now - DAY, now + DAY
        )
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (tmp_path / "broker.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (tmp_path / "broker.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return str(tmp_path / "broker.pem"), str(tmp_path / "broker.key")


async def test_messages_come_over_tls(mosquitto_with, certificate, quick):
    """From a broker that an authority of the profile vouches for."""
    authority, key = certificate
    mosquitto = mosquitto_with(f"certfile {authority}", f"keyfile {key}")
    settings = MqttSettings(host="127.0.0.1", port=mosquitto.port, tls=Tls(authority=authority))
    link = MqttLink(settings, quick)
    async with running(link.run()):
        await asyncio.wait_for(link.connected.wait(), 20)
        async with mosquitto.publisher(settings.tls.context()) as publish:
            for number in range(300):
                await publish("a", str(number))
        for number in range(300):
            message = await asyncio.wait_for(link.inbox.get(), 20)
            assert message.payload == str(number).encode()
            link.done(message)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # paho forgets the socket of a handshake that failed
async def test_an_unknown_broker_is_not_trusted(mosquitto_with, certificate, quick, caplog):
    """The system's authorities do not know it."""
    authority, key = certificate
    mosquitto = mosquitto_with(f"certfile {authority}", f"keyfile {key}")
    link = MqttLink(MqttSettings(host="127.0.0.1", port=mosquitto.port, tls=Tls()), quick)
    async with running(link.run()):
        await until(lambda: "CERTIFICATE_VERIFY_FAILED" in caplog.text)
    assert not link.connected.is_set()
    gc.collect()


@pytest.fixture
def passwords(tmp_path):
    """Mosquitto's file of passwords; anna's is s3cret."""
    if shutil.which("mosquitto_passwd") is None:
        pytest.skip("mosquitto_passwd is not installed")
    path = tmp_path / "passwords"
    subprocess.run(["mosquitto_passwd", "-c", "-b", str(path), "anna", "s3cret"], check=True)
    return path


async def test_a_password_opens_the_broker(mosquitto_with, passwords, tmp_path, quick, caplog):
    """The right one, out of its file, which is read at each attempt."""
    mosquitto = mosquitto_with("allow_anonymous false", f"password_file {passwords}")
    secret = tmp_path / "secret"
    settings = MqttSettings(host="127.0.0.1", port=mosquitto.port, username="anna", password_file=str(secret))
    link = MqttLink(settings, quick)
    secret.write_text("wrong\n", encoding="utf-8")
    async with running(link.run()):
        await until(lambda: "Not authorized" in caplog.text)
        secret.write_text("s3cret\n", encoding="utf-8")
        await asyncio.wait_for(link.connected.wait(), 20)
