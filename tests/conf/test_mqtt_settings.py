"""How to reach the MQTT broker."""

from __future__ import annotations

import ssl

import pytest
from support.applications import MONITORING

from triplewire.broker.errors import ProfileError
from triplewire.conf.monitoring.mqtt_settings import MqttSettings, Tls
from triplewire.jsap import Profile


def test_a_profile_need_not_say_anything():
    """And the shipped one says what the defaults are."""
    assert MqttSettings.of({}) == MqttSettings() == MqttSettings.of(Profile.load(MONITORING).extended)


def test_everything_can_be_said():
    """By the names in the documentation."""
    said = {"host": "mqtt.example", "port": 8884, "client": "me", "username": "anna", "queue": 6}
    mqtt = {"topics": ["a/#", "b/+"], "password-file": "secret", "in-flight": 5, "session-s": 7}
    tls = {"authority": "ca.pem", "certificate": "me.pem", "key": "me.key"}
    assert MqttSettings.of({"mqtt": {**said, **mqtt, "tls": {"enable": True, **tls}}}) == MqttSettings(
        **said, topics=("a/#", "b/+"), password_file="secret", in_flight=5, session_s=7, tls=Tls(**tls)
    )


def test_tls_has_a_port_of_its_own():
    """Unless the profile says another."""
    assert MqttSettings.of({"mqtt": {"tls": {"enable": True}}}).port == 8883
    assert MqttSettings.of({"mqtt": {"tls": {"enable": True}, "port": 1883}}).port == 1883
    assert MqttSettings.of({"mqtt": {"tls": {"enable": False}}}).tls is None


def test_tls_checks_the_server():
    """By the system's authorities, where no other is given."""
    context = Tls().context()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    with pytest.raises(OSError, match="No such file"):
        Tls(authority="/nowhere/ca.pem").context()


def test_the_password_is_in_a_file(tmp_path):
    """Its first line; the profile holds no secret."""
    (tmp_path / "password").write_text("s3cret\n", encoding="utf-8")
    assert MqttSettings(password_file=str(tmp_path / "password")).password() == "s3cret"
    assert MqttSettings().password() is None


@pytest.mark.parametrize(
    ("mqtt", "path"),
    [
        ({"port": 0}, "extended.mqtt.port"),
        ({"host": 5}, "extended.mqtt.host"),
        ({"topics": [5]}, "extended.mqtt.topics"),
        ({"in-flight": 65_536}, "extended.mqtt.in-flight"),
        ({"queue": True}, "extended.mqtt.queue"),
        ({"session-s": "1 day"}, "extended.mqtt.session-s"),
        ({"tls": {"enable": "perhaps"}}, "extended.mqtt.tls.enable"),
    ],
)
def test_a_wrong_setting_is_told_by_its_path(mqtt, path):
    """When the adapter starts."""
    with pytest.raises(ProfileError) as caught:
        MqttSettings.of({"mqtt": mqtt})
    assert caught.value.path == path
