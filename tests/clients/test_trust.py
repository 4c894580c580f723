import ssl

import pytest

from triplewire.broker.errors import ClientError
from triplewire.clients.settings import ClientSettings
from triplewire.clients.trust import tls_context


def test_certificates_are_checked_by_default():
    """And the host's name, with TLS 1.2 or newer."""
    context = tls_context(ClientSettings())

    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def test_any_certificate_is_believed_only_where_that_is_asked_for():
    """By `verify`."""
    context = tls_context(ClientSettings(verify=False))

    assert context.verify_mode is ssl.CERT_NONE
    assert not context.check_hostname


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_file_without_certificates_is_told(tmp_path, content):
    """By its path."""
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)

    with pytest.raises(ClientError, match=r"ca\.pem: expected a PEM file"):
        tls_context(ClientSettings(ca_file=str(path)))
