"""Places on one machine with a network between them that can be cut: network namespaces of Linux, joined by a bridge.

It takes root, and `ip` (iproute2).  What runs in a site, by a thread of its own, sees that site's network and nothing else;
so do the processes that it starts.  A cut is silent: packets are lost, and nobody is told.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from typing import Any

T = TypeVar("T")

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET (sched.h)
_BRIDGE = "lan"
_THREADS = 8


def trouble() -> str:
    """Why there can be no sites here; "" where there can."""
    if shutil.which("ip") is None:
        return "sites need `ip` (iproute2)"
    if os.geteuid() != 0:
        return "sites need root: network namespaces"
    name = f"tw-{os.getpid()}-try"
    try:
        _ip("netns", "add", name)
        _ip("netns", "del", name)
    except subprocess.CalledProcessError as error:
        return f"sites need network namespaces: {error.stderr.strip()}"
    return ""


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def _enter(namespace: str) -> None:
    """The calling thread is in that namespace from now on, and what it starts."""
    libc = ctypes.CDLL(None, use_errno=True)
    file = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        if libc.setns(file, _NEW_NETWORK):
            raise OSError(ctypes.get_errno(), f"setns {namespace}")
    finally:
        os.close(file)


class Site:
    """One place; `address` is its own on the network between them."""

    def __init__(self, namespace: str, address: str) -> None:
        self.address = address
        self._pool = ThreadPoolExecutor(_THREADS, initializer=_enter, initargs=(namespace,))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=(namespace,))
        self._thread.start()

    def _run(self, namespace: str) -> None:
        _enter(namespace)
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """What a function returns that is called there."""
        return await asyncio.wrap_future(self._pool.submit(function, *arguments))

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What is returned by work that is done there."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    @asynccontextmanager
    async def within(self, context: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
        """Enter and leave it there."""
        entered = await self.run(context.__aenter__())  # type: ignore[arg-type]
        try:
            yield entered
        finally:
            await self.run(context.__aexit__(None, None, None))  # type: ignore[arg-type]

    def close(self) -> None:
        """Nothing runs there any more."""
        self._pool.shutdown()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


class Sites:
    """So many sites, by letters; `cut` and `heal` take one of them off the network and put it back."""

    def __init__(self, letters: str = "ab") -> None:
        self._prefix = f"tw-{os.getpid()}"
        self._letters = letters
        self._stack = ExitStack()
        self.sites: dict[str, Site] = {}

    def __enter__(self) -> Self:
        try:
            self._make()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __getitem__(self, letter: str) -> Site:
        return self.sites[letter]

    def _make(self) -> None:
        lan = self._namespace(_BRIDGE)
        _ip("-n", lan, "link", "add", "name", _BRIDGE, "type", "bridge")
        _ip("-n", lan, "link", "set", "dev", _BRIDGE, "up")
        for number, letter in enumerate(self._letters, 1):
            name, address = self._namespace(letter), f"10.77.0.{number}"
            pair = ("link", "add", "name", letter, "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("-n", lan, *pair)
            _ip("-n", lan, "link", "set", "dev", letter, "master", _BRIDGE, "up")
            _ip("-n", name, "link", "set", "dev", "lo", "up")
            _ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "dev", "eth0", "up")
            self.sites[letter] = site = Site(name, address)
            self._stack.callback(site.close)

    def _namespace(self, letter: str) -> str:
        name = f"{self._prefix}-{letter}"
        _ip("netns", "add", name)
        self._stack.callback(_ip, "netns", "del", name)
        return name

    def cut(self, letter: str) -> None:
        """Nothing comes there, and nothing leaves."""
        _ip("-n", f"{self._prefix}-{_BRIDGE}", "link", "set", "dev", letter, "nomaster")

    def heal(self, letter: str) -> None:
        """It is as before."""
        _ip("-n", f"{self._prefix}-{_BRIDGE}", "link", "set", "dev", letter, "master", _BRIDGE)
