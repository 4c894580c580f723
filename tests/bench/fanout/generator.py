"""A process with a crowd in it, told what to do by lines of JSON: `python -m bench.fanout.generator '<plan>'`.

The plan has host, port, protocol, path, source, consumers, rate (that join in a second) and join_s. Once they have joined
it says so; then `{"count": true}` is answered by what has come so far, and `{"report": n}` by what became of the items 1
to n, which ends it, as does the end of its input.
"""

from __future__ import annotations

import json
import sys
import time

from .crowd import Crowd
from .handshakes import HANDSHAKES
from .processes import say, use_all_files

_FORGET_S = 0.5


def main() -> None:
    """Join, read, answer."""
    plan = json.loads(sys.argv[1])
    use_all_files()
    handshake = HANDSHAKES[plan["protocol"]]
    crowd = Crowd((plan["host"], plan["port"]), lambda: handshake(plan["path"]), plan["source"])
    crowd.join(plan["consumers"], plan["rate"], time.monotonic() + plan["join_s"])
    say(joined=len(crowd), refused=crowd.refused[:3])
    _serve(crowd)
    crowd.close()


def _serve(crowd: Crowd) -> None:
    orders = sys.stdin.buffer.raw  # unbuffered: what is there is told by epoll
    crowd.watch(orders.fileno())
    forget_at = 0.0
    while True:
        asked = crowd.round(1.0)
        if (now := time.monotonic()) > forget_at:
            crowd.forget()
            forget_at = now + _FORGET_S
        if not asked:
            continue
        line = orders.readline()
        order = json.loads(line) if line else {}
        if "count" not in order:
            if "report" in order:
                missing = crowd.missing(range(1, order["report"] + 1))
                say(**missing, delays=crowd.delays.encode(), deliveries=len(crowd.delays))
            return
        say(items=crowd.items, bytes=crowd.bytes, consumers=len(crowd), cpu_s=time.process_time())


if __name__ == "__main__":
    main()
