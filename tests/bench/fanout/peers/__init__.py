"""The servers that are measured, ours first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .faye import Faye
from .mosquitto import Mosquitto
from .nginx import Nginx
from .nullgate import Nullgate
from .peer import DEFLATE, PLAIN, WINDOW
from .triplewire import Triplewire
from .zeromq import ZeroMQ

if TYPE_CHECKING:
    from .peer import Mode, Peer

_ALL: tuple[type[Peer], ...] = (Triplewire, Nullgate, Nginx, Mosquitto, ZeroMQ, Faye)
PEERS = {each.name: each for each in _ALL}
MODES: dict[str, Mode] = {"plain": PLAIN, "window": WINDOW, "deflate": DEFLATE}
