"""An OpenID Connect provider in a process of its own, made of Authlib's parts (`authlib_provider`)."""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

CLIENT, SECRET = "app", "the-app's-secret"
DISCOVERY, JWKS, TOKEN = "/.well-known/openid-configuration", "/jwks", "/token"
PROGRAM = Path(__file__).with_name("authlib_provider.py")


@dataclass
class RunningProvider:
    """The provider; `issuer` is its URL."""

    process: subprocess.Popen[str]
    issuer: str

    @classmethod
    def start(cls, port: int = 0) -> RunningProvider:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(PROGRAM), str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        issuer = process.stdout.readline().strip()
        if not issuer:
            process.wait()
            raise RuntimeError(f"the provider ended with {process.returncode}")
        return cls(process, issuer)

    def token(self, scope: str = "") -> str:
        """A token for its one client, by HTTP as any client gets it."""
        credentials = b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        form = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
        request = Request(
            self.issuer + TOKEN,
            data=urlencode(form).encode(),
            headers={"Authorization": f"Basic {credentials}"},
        )
        with urlopen(request, timeout=10) as response:
            return json.load(response)["access_token"]

    def control(self, **told) -> None:
        """What it is to do from now on; None takes back.

        `rotate=True`, `issuer` and `jwks_uri` (in the discovery document), `padding` (bytes in the JWKS), `compress`,
        `redirect` (a URL), `status`, `delay` (s), `claims` and `audience` (of the tokens to come).
        """
        with urlopen(f"{self.issuer}/control", data=json.dumps(told).encode(), timeout=10) as response:
            response.read()

    def asked(self, path: str) -> int:
        """How often that path was asked for."""
        with urlopen(f"{self.issuer}/control", timeout=10) as response:
            return json.load(response).get(path, 0)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
