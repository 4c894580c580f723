"""A WebSocket's opening handshake: what is said is the websockets library's, which form is asked for is ours."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from websockets.datastructures import Headers
from websockets.exceptions import NegotiationError
from websockets.http11 import Request
from websockets.server import ServerProtocol

from triplewire.broker.errors import MalformedRequest

from .frames import BINARY, TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from websockets.typing import Subprotocol

    from .forms import Form
    from .requests import StreamRequest

# Names of ours, none is registered: lines of JSON as text messages, items as on the wire as binary ones.
SUBPROTOCOLS: Final[dict[str, Form]] = {"ldjson": TEXT, "ztreamy-stream": BINARY}
_QUIET = logging.getLogger("triplewire.gates.stream.handshake")
_QUIET.setLevel(logging.CRITICAL)  # a stranger's broken handshake is not our error


def shake_hands(request: StreamRequest) -> tuple[bytes, Form]:
    """The response that opens the WebSocket, and the form of what follows.

    That is the first of the client's subprotocols that there is; without any, by Accept, text unless that names items.

    Raises:
        MalformedRequest: it is not a handshake of RFC 6455, 4.2.1, or no subprotocol is one of these.
    """
    protocol = ServerProtocol(select_subprotocol=_chosen, logger=_QUIET)
    headers = Headers(request.headers)
    response = protocol.accept(
        Request(request.path, headers, method=request.method, protocol=f"HTTP/{request.version}")
    )
    if protocol.handshake_exc is not None:
        raise MalformedRequest(f"this is not a WebSocket's handshake: {protocol.handshake_exc}")
    if protocol.subprotocol is not None:
        return response.serialize(), SUBPROTOCOLS[protocol.subprotocol]
    wants_items = BINARY.media_type in request.headers.get("accept", "")
    return response.serialize(), BINARY if wants_items else TEXT


def _chosen(_: ServerProtocol, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    for name in offered:
        if name in SUBPROTOCOLS:
            return name
    if offered:
        raise NegotiationError(f"the subprotocols here are {', '.join(SUBPROTOCOLS)}")
    return None
