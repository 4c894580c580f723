"""Builds the broker from its settings, starts it, and ends it: the only file that knows everybody."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplewire.gates.http.router import Router
from triplewire.gates.http.traced import TracedGate
from triplewire.gates.journal import gate as journal_gate
from triplewire.gates.journal.follower import Follower
from triplewire.gates.journal.forwarder import Forwarder
from triplewire.gates.journal.gate import JournalGate
from triplewire.gates.quotas import Quotas
from triplewire.gates.sparql import endpoint, explain, graph_store, query, update
from triplewire.gates.sse import gate as sse
from triplewire.gates.tls import Certificate
from triplewire.gates.web.metrics import Metrics
from triplewire.gates.web.pages import OPEN_PATHS, application
from triplewire.gates.websocket.server import WebSocketGate
from triplewire.spu.analysis.analysis import analyse
from triplewire.spu.analysis.foreign import analyse_foreign
from triplewire.spu.explanation import explanation

from . import meters, programs
from .admission import admission
from .core import Core
from .dataset.opening import open_dataset
from .endpoint import EndpointStore
from .errors import ConfigError, StoreError
from .guard import check_query
from .heap import give_back, settle
from .journal.repair import repair as repair_journal
from .ports import http_ports, websocket_ports
from .readers.pool import ReaderProcesses
from .readers.sources import ForkedStore, OpenedStore
from .rights import Scope
from .scheduler import Scheduler
from .store import EmbeddedStore
from .streams import Streams
from .subscriptions import Subscriptions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from triplewire.gates.http.router import Gate
    from triplewire.spu.analysis.analysis import Analysis

    from .admission import Admission
    from .config import Config, JournalConfig, LimitsConfig, SchedulerConfig, TracingConfig
    from .dataset.dataset import Dataset
    from .model import Query
    from .ports import Listening
    from .store import Store
    from .trace_export import Tracer

log = logging.getLogger("triplewire.broker.app")

_UNITS_TOLD = 100
_STREAMS_TOLD = 8
_KEEP_S = 0.25  # how often is looked whether a snapshot or a renewal is due


class Broker:
    """The parts of one broker, put together on the running event loop."""

    def __init__(self, config: Config, store: Store, admission: Admission) -> None:
        self.config = config
        self.store = store
        self.admission = admission
        self.quotas = Quotas(config.limits)
        self.subscriptions = Subscriptions(
            config.limits, analyse=self._analysis(), exact=isinstance(store, EmbeddedStore)
        )
        if isinstance(store, EndpointStore):
            store.routed_by(self.subscriptions.touched)
        self.scheduler = Scheduler(Core(store, self.subscriptions), store, config.scheduler, config.limits)
        self._started = time.time()
        self.tracing = _tracing(config.tracing)
        self.journal: JournalGate | None = None
        self.follower: Follower | None = None
        if config.follow.url and isinstance(store, EmbeddedStore):
            self.follower = Follower(config.follow, config.paths, store.dataset)
            self.forwarder = Forwarder(config.follow, config.paths, self.follower)
        self.streams = Streams(config, self.scheduler, self.writes, admission.authority, self.quotas)

    def _analysis(self) -> Callable[[Query], Analysis] | None:
        """What is known of a query; nothing where all are to be evaluated after each update."""
        sparql, store = self.config.sparql, self.config.store
        if isinstance(self.store, EmbeddedStore):
            known = partial(analyse, union_default_graph=sparql.union_default_graph)
        elif store.endpoint_routing:
            known = partial(analyse_foreign, graphs_apart=store.endpoint_graphs_apart)
        else:
            return None
        return partial(known, base_iri=sparql.base_iri, prefixes=sparql.prefixes)

    @property
    def writes(self) -> update.Writes:
        """Who carries out what writes."""
        return self.scheduler if self.follower is None else self.forwarder

    async def close(self) -> None:
        """Finish what was admitted, and refuse what comes."""
        await self.streams.close()
        if self.journal is not None:
            self.journal.close()
        await self.scheduler.close()
        if self.tracing is not None:
            await asyncio.to_thread(self.tracing.close)

    def router(self) -> Router:
        """The application of the HTTP port."""
        config, paths = self.config, self.config.paths
        admission, authority = self.admission, self.admission.authority
        routers = (*admission.routes, self.streams.routes())
        rest = application(
            paths,
            self.health,
            self.metrics(),
            units=self.units,
            streams=self.streams.origin,
            routers=routers,
        )
        # The directory looks for itself at who asks: it is not for administrators alone
        open_paths = OPEN_PATHS | admission.open_paths | {Streams.PATH}
        router = Router(config.http, config.limits, authority, rest, open_paths, self.quotas)
        queries = query.QueryGate(self.scheduler, config.limits)
        updates = update.UpdateGate(self.writes)
        graphs = graph_store.GraphStoreGate(self.scheduler, self.writes, queries, paths.graph_store)
        events = sse.EventGate(self.scheduler, config.limits, authority, config.http.event_ping_s)
        # Where the scope depends on the operation, the gate asks for it
        traced = self._traced
        router.add(paths.graph_store, traced(graphs), graph_store.METHODS, None, below=True)
        router.add(paths.subscribe, events, sse.METHODS, Scope.SUBSCRIBE)
        if isinstance(self.store, EmbeddedStore):
            self.journal = JournalGate(self.store.dataset, config.journal, authority)
            router.add(paths.journal, self.journal, journal_gate.METHODS, Scope.ADMIN)
            router.add(f"{paths.journal}/snapshot", self.journal, journal_gate.METHODS, Scope.ADMIN)
        router.add(explain.PATH, explain.ExplainGate(self.explain), explain.METHODS, Scope.SUBSCRIBE)
        router.add(paths.query, queries, query.METHODS, Scope.QUERY)
        router.add(paths.update, traced(updates), update.METHODS, Scope.UPDATE)
        both = traced(endpoint.EndpointGate(queries, updates))
        router.add(paths.sparql, both, endpoint.METHODS, None)
        if paths.query == paths.update:
            router.add(paths.query, both, endpoint.METHODS, None)
        return router

    def explain(self, query: Query) -> dict[str, Any]:
        """How a subscription to a query would be followed.

        Raises:
            BrokerError: it is too long or too complex.
        """
        check_query(query.sparql, self.config.limits)
        return asdict(explanation(query, self._analysis()))

    def _traced(self, gate: Gate) -> Gate:
        return gate if self.tracing is None else TracedGate(gate, self.tracing)

    @contextlib.asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Where this broker follows another: begin with its dataset, then follow until the block ends.

        Raises:
            StoreError: the leader can't be followed.
        """
        if self.follower is None:
            yield
            return
        try:
            await self.follower.begin()
            task = asyncio.create_task(self.follower.run(self.scheduler))
            try:
                yield
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        finally:
            await self.forwarder.close()
            await self.follower.close()

    def health(self) -> dict[str, Any]:
        """Whether the core answers, and what the broker holds."""
        found = self._health()
        if isinstance(self.store, EmbeddedStore):
            found |= self.store.health()
        if self.journal is not None and "journal" in found:
            found["journal"]["followers"] = self.journal.followers
            found["journal"]["followers_behind"] = self.journal.behind
        if self.follower is not None:
            found["following"] = self.follower.health()
        found["streams"] = self.streams.health()
        if (relaying := self.streams.relaying()) is not None:
            found["relay"] = relaying
        return found

    def units(self) -> list[dict[str, Any]]:
        """The queries that stand, for the page."""
        return self.subscriptions.told(_UNITS_TOLD)

    def metrics(self) -> Metrics:
        """The same for Prometheus, and how long things take."""
        scheduler = self.scheduler
        return Metrics(self.health, (scheduler.waited, scheduler.worked, scheduler.answered, *meters.ALL))

    def _health(self) -> dict[str, Any]:
        scheduler, statistics = self.scheduler, self.scheduler.statistics
        stuck = scheduler.busy_s() > self.config.scheduler.timeout_s
        return {
            "status": "stuck" if stuck else "ok",
            "uptime_s": round(time.time() - self._started, 1),
            "subscriptions": len(self.subscriptions) - scheduler.away.subscriptions,
            "away": scheduler.away.subscriptions,
            "units": self.subscriptions.units,
            "kinds": self.subscriptions.kinds(),
            "sockets": scheduler.subscribers,
            "waiting": scheduler.waiting,
            "queue_size": self.config.scheduler.queue_size,
            "reading": scheduler.reading,
            "busy_s": round(scheduler.busy_s(), 3),
            "updates": statistics.updates,
            "queries": statistics.queries,
            "subscribes": statistics.subscribes,
            "notifications": statistics.notifications,
            "refused": statistics.refused,
            "failed": statistics.failed,
        }


def _tracing(config: TracingConfig) -> Tracer | None:
    if not config.endpoint:
        return None
    try:
        from .trace_export import Tracer  # noqa: PLC0415 - without tracing nothing of it is loaded
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"tracing.endpoint needs OpenTelemetry ({error.name} is missing): pip install 'triplewire[tracing]'"
        ) from error
    return Tracer(config)


def open_store(config: Config) -> Store:
    """The dataset that the settings name.

    Raises:
        StoreError: it can't be opened.
    """
    if config.store.query_endpoint:
        return EndpointStore(config.store, config.sparql, config.limits)
    dataset = open_dataset(config.store, config.journal)
    readers = open_readers(dataset, config.scheduler, config.limits)
    return EmbeddedStore(dataset, config.sparql, config.limits, readers)


def open_readers(dataset: Dataset, config: SchedulerConfig, limits: LimitsConfig) -> ReaderProcesses | None:
    """What answers queries of a dataset; None where the settings have it done by threads alone."""
    if config.reader_isolation != "process":
        return None
    source: ForkedStore | OpenedStore = ForkedStore(dataset.quiet, lambda: dataset.store)
    if dataset.is_disk:
        assert dataset.kept is not None
        source = OpenedStore(dataset.kept.directory / "store")
    readers = ReaderProcesses(
        source, config.readers, limits.query_bytes, config.reader_idle_s, config.reader_pending_quads
    )
    dataset.listen(readers.told, readers.renewed)
    dataset.is_copied = not dataset.is_disk
    return readers


@dataclass(frozen=True, slots=True)
class Running:
    """A broker that answers: where it is `listening`, and how its certificate and permissions are read again."""

    listening: Listening
    reread: Callable[[], None]


@contextlib.asynccontextmanager
async def running(config: Config) -> AsyncIterator[Running]:
    """A broker that answers until the block ends; then it drains, flushes and closes.

    Raises:
        ConfigError: the certificate, or something of security, can't be used.
        StoreError: the store can't be opened.
        OSError: a port can't be opened.
    """
    tls = Certificate(config.tls) if config.tls.certificate else None
    with contextlib.ExitStack() as stack:
        admitted = stack.enter_context(admission(config))
        store = open_store(config)
        stack.callback(store.close)
        broker = Broker(config, store, admitted)
        gate = WebSocketGate(
            broker.scheduler,
            config.paths,
            config.limits,
            admitted.authority,
            broker.quotas,
            config.security.renew_s,
            config.security.stranger_s,
        )

        def reread() -> None:
            if tls is not None:
                tls.reread()
            admitted.reread()

        async with (
            websocket_ports(config, gate, tls) as websockets,
            broker.following(),
            broker.streams.served(tls) as streams_at,
            http_ports(config, broker.router(), websockets, tls, broker.quotas) as listening,
        ):
            places = replace(listening, **streams_at._asdict())
            async with _kept(store, config.journal):
                yield Running(places, reread)
            await broker.close()


@contextlib.asynccontextmanager
async def _kept(store: Store, config: JournalConfig) -> AsyncIterator[None]:
    """What happens in the background: syncing in time, even while the rest takes its time."""
    tasks = [
        asyncio.create_task(_every(config.fsync_s, store.is_sync_due, store.sync)),
        asyncio.create_task(_every(_KEEP_S, store.is_keep_due, store.keep)),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()


async def _every(seconds: float, due: Callable[[], bool], work: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(seconds)
        try:
            if due():
                await asyncio.to_thread(work)
        except StoreError:
            log.exception("! in the background")


async def serve(config: Config) -> None:
    """Run until SIGTERM or SIGINT; says where it listens, then `ready`, on standard output."""
    give_back()
    stop = programs.told_to_stop()
    async with running(config) as broker:
        settle()
        programs.announce(announcement(config, broker.listening), broker.reread)
        await stop.wait()
        log.info("= draining")
    log.info("= ended")


def announcement(config: Config, listening: Listening) -> list[str]:
    """One line for each URL, what the data is kept in, then `ready`."""
    paths, http = config.paths, listening.http
    if config.store.query_endpoint:
        kept = f"at {config.store.query_endpoint}"
    elif config.follow.url:
        kept = f"at {config.follow.url}, which this broker follows"
    elif config.store.data:
        kept = f"in {config.store.data}" + (", answered from disk" if config.store.engine == "disk" else "")
    else:
        kept = "in memory only: nothing outlives this process (--data DIR keeps it)"
    secured: list[str] = []
    if listening.https:
        secured.append(f"tls        https://{listening.https}/ and wss://{listening.wss}{paths.subscribe}")
    names = [name for name, stream in config.streams.items() if stream.kind != "none"]
    if len(names) > _STREAMS_TOLD:
        names[_STREAMS_TOLD:] = [f"and {len(names) - _STREAMS_TOLD} more"]
    streams = f"http://{listening.stream}/" + (
        f" and https://{listening.stream_tls}/" if listening.stream_tls else ""
    )
    return [
        f"page       http://{http}/",
        f"sparql     http://{http}{paths.sparql}   ({paths.query}, {paths.update}, {paths.graph_store})",
        f"subscribe  ws://{listening.websocket}{paths.subscribe}   (events at http://{http}{paths.subscribe})",
        *secured,
        f"streams    {streams}   ({', '.join(names) or 'there are none'})",
        *(
            [f"links      {listening.links}   (trackers: {', '.join(config.relay.trackers)})"]
            if listening.links
            else []
        ),
        f"data       {kept}",
        "ready",
    ]


def run(config: Config, *, repair: bool = False) -> None:
    """Configure logging, raise the limit of open files, and serve; `repair` a damaged journal first.

    Raises:
        StoreError: the store can't be opened.
        JournalDamaged: what is kept can't be trusted, and `repair` was not asked for.
        OSError: a port can't be opened.
    """
    programs.prepare(config.log)
    if repair and config.store.data:
        for finding in repair_journal(Path(config.store.data)).findings:
            log.warning("= repair: %s", finding)
    programs.run(serve(config))
