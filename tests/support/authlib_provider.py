"""A program: an OpenID Connect provider made of Authlib's parts; see `identity_provider` for how tests run it.

Tokens by client credentials (RFC 6749, 4.4), as JWTs of RFC 9068; discovery and JWKS.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # it never leaves this machine

from authlib.oauth2.rfc6749 import AuthorizationServer, ClientMixin, OAuth2Request
from authlib.oauth2.rfc6749.grants import ClientCredentialsGrant
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from authlib.oidc.discovery import OpenIDProviderMetadata
from joserfc.jwk import RSAKey

CLIENT, SECRET = "app", "the-app's-secret"
DISCOVERY, JWKS, TOKEN = "/.well-known/openid-configuration", "/jwks", "/token"


class State:
    """What the provider signs with, what it was told to do wrong, and what it was asked."""

    def __init__(self):
        self.issuer = ""
        self.told = {}
        self.asked = Counter()
        self.rotate()

    def rotate(self):
        self.key = RSAKey.generate_key(2048, {"use": "sig", "alg": "RS256"}, auto_kid=True)

    def metadata(self):
        """OpenID Connect Discovery 1.0, 3."""
        metadata = OpenIDProviderMetadata(
            issuer=self.told.get("issuer", self.issuer),
            authorization_endpoint=f"{self.issuer}/authorize",
            token_endpoint=self.issuer + TOKEN,
            jwks_uri=self.told.get("jwks_uri", self.issuer + JWKS),
            response_types_supported=["code"],
            subject_types_supported=["public"],
            id_token_signing_alg_values_supported=["RS256"],
            grant_types_supported=["client_credentials"],
        )
        metadata.validate_response_types_supported()
        metadata.validate_subject_types_supported()
        metadata.validate_id_token_signing_alg_values_supported()
        return dict(metadata)

    def jwks(self):
        found = {"keys": [self.key.as_dict(private=False)]}
        if "padding" in self.told:
            found["padding"] = "x" * self.told["padding"]
        return found


class Client(ClientMixin):
    """The one client there is."""

    def get_client_id(self):
        return CLIENT

    def get_allowed_scope(self, scope):
        return scope or ""

    def check_client_secret(self, secret):
        return secret == SECRET

    def check_endpoint_auth_method(self, method, *_):
        return method in {"client_secret_basic", "client_secret_post"}

    def check_grant_type(self, grant_type):
        return grant_type == "client_credentials"


class Generator(JWTBearerTokenGenerator):
    """Makes the access tokens."""

    def __init__(self, state):
        super().__init__(state.issuer, expires_generator=lambda *_: 3600)
        self.state = state

    def get_jwks(self):
        return {"keys": [self.state.key.as_dict(private=True)]}

    def get_audiences(self, *_):
        return self.state.told.get("audience", "triplewire")

    def get_extra_claims(self, *_):
        return self.state.told.get("claims", {})


class FormRequest(OAuth2Request):
    """A request for a token, of which the form has been read."""

    @property
    def form(self):
        return self.payload.data


class Server(AuthorizationServer):
    """Authlib's authorization server, between an HTTP server's handler and the grant."""

    def __init__(self, state):
        super().__init__()
        self.register_grant(ClientCredentialsGrant)
        self.register_token_generator("default", Generator(state))

    def query_client(self, client_id):
        return Client() if client_id == CLIENT else None

    def save_token(self, *_):
        pass

    def send_signal(self, *_, **__):
        pass

    def create_oauth2_request(self, request):
        url, headers, form = request
        made = FormRequest("POST", url, headers=headers)
        made.payload = BasicOAuth2Payload(form)
        return made

    def handle_response(self, status, body, headers):
        return status, body, headers


class Handler(BaseHTTPRequestHandler):
    """The provider's HTTP, and /control."""

    protocol_version = "HTTP/1.1"
    state: State
    oauth: Server

    def do_GET(self):
        state, told = self.state, self.state.told
        if self.path == "/control":
            return self.answer(200, dict(state.asked))
        state.asked[self.path] += 1
        time.sleep(told.get("delay", 0))
        if "redirect" in told:
            return self.answer(302, {}, {"Location": told["redirect"]})
        if "status" in told:
            return self.answer(told["status"], {})
        document = {DISCOVERY: state.metadata, JWKS: state.jwks}.get(self.path)
        return self.answer(200, document()) if document else self.answer(404, {})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path == "/control":
            self.tell(json.loads(body))
            return self.answer(200, {})
        self.state.asked[self.path] += 1
        request = self.state.issuer + self.path, self.headers, dict(parse_qsl(body))
        return self.answer(*self.oauth.create_token_response(request))

    def tell(self, told):
        if told.pop("rotate", False):
            self.state.rotate()
        together = self.state.told | told
        self.state.told = {name: value for name, value in together.items() if value is not None}

    def answer(self, status, body, headers=()):
        content = json.dumps(body).encode()
        self.send_response(status)
        if self.state.told.get("compress"):
            content = gzip.compress(content)
            self.send_header("Content-Encoding", "gzip")
        for name, value in dict(headers).items():
            if name.lower() not in {"content-type", "content-length"}:
                self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        try:
            self.wfile.write(content)
        except OSError:  # whoever asked has had enough
            self.close_connection = True

    def log_message(self, *_):
        pass


def main(port):
    """Serve until standard input ends, as it does with the test; the issuer's URL goes to standard output."""
    Handler.state = state = State()
    http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    http.daemon_threads = True
    state.issuer = f"http://127.0.0.1:{http.server_port}"
    Handler.oauth = Server(state)
    print(state.issuer, flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    http.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]))
