import json
import os
import threading

import httpx
import pytest
from pyoxigraph import RdfFormat, parse
from support.hand_made_parts import observations, write_parts
from support.running import RunningBroker

from triplewire.broker.errors import BrokerRefused, ConnectionLost
from triplewire.clients.historic.chunk_size import ChunkSettings
from triplewire.clients.historic.online import LoadInterrupted, OnlineLoad, OnlineSettings
from triplewire.clients.historic.part_files import PartsError
from triplewire.clients.historic.progress_file import START, Position, progress_file
from triplewire.clients.settings import ClientSettings
from triplewire.clients.sparql import SparqlClient

LINES = observations(400)
SMALL = ChunkSettings(first_lines=100, least_lines=100, most_lines=100)
EVERYTHING = OnlineSettings(chunks=SMALL, keep_s=0.0)


@pytest.fixture
def client(fake):
    with SparqlClient(fake.http, settings=ClientSettings(retries=0)) as client:
        yield client


def progress_of(files, url="http://a/"):
    return progress_file(files.directory, files.hash, url, os.environ)


def quads(lines):
    return set(parse(b"".join(lines), RdfFormat.N_QUADS))


def loading(client, files, settings=EVERYTHING, **more):
    more.setdefault("sleep", lambda _: None)
    return OnlineLoad(client, files, progress_of(files), settings, **more)


def scripted(fake, at, replies):
    """Has the broker answer so when so many lines are loaded."""
    return lambda lines: fake.replies.extend(replies) if lines == at else None


def updates(fake):
    return sum(request["path"] == "/update" for request in fake.requests)


@pytest.mark.parametrize("gzipped", [False, True])
def test_all_parts_are_loaded(fake, client, tmp_path, gzipped):
    """In chunks, and how far it is told."""
    told = []
    files = write_parts(tmp_path, LINES, 3, gzipped=gzipped)
    loaded = loading(client, files, told=told.append).run()

    assert set(fake.store) == quads(LINES)
    assert (loaded.lines, loaded.before, loaded.requests) == (len(LINES), 0, 12)
    assert told == [0, *(part * 400 + chunk for part in range(3) for chunk in (100, 200, 300, 400))]
    assert progress_of(files).read() == Position(3)


def test_a_load_lets_others_go_first(fake, tmp_path):
    """By the priority that the client was made with."""
    with SparqlClient(fake.http, settings=ClientSettings(urgency=6)) as urgent:
        loading(urgent, write_parts(tmp_path, LINES)).run()

    assert {request["headers"].get("priority") for request in fake.requests} == {"u=6"}


def test_what_was_loaded_is_not_sent_again(fake, client, tmp_path):
    """Whether it is complete, or was interrupted inside a part."""
    files = write_parts(tmp_path, LINES, 3)
    loading(client, files).run()
    before = updates(fake)
    loaded = loading(client, files).run()
    assert (loaded.lines, loaded.before, updates(fake) - before) == (0, len(LINES), 3)

    progress_of(files).keep(Position(1, 250))
    loaded = loading(client, files).run()
    assert (loaded.lines, loaded.before) == (len(LINES) - 650, 650)
    assert not loaded.anew


@pytest.mark.parametrize("position", [Position(0, 1), Position(1), Position(1, 250), Position(3)])
def test_a_broker_that_has_forgotten_gets_everything_again(fake, client, tmp_path, position):
    """As one without a journal has when it starts anew: what it answered is not there."""
    files = write_parts(tmp_path, LINES, 3)
    progress_of(files).keep(position)
    loaded = loading(client, files).run()

    assert loaded.anew
    assert set(fake.store) == quads(LINES)


def test_one_line_that_somebody_deleted_makes_no_load_begin_anew(fake, client, tmp_path):
    """It stays deleted."""
    files = write_parts(tmp_path, LINES, 3)
    loading(client, files).run()
    gone = next(iter(quads([LINES[-1]])))
    fake.store.remove(gone)
    loaded = loading(client, files).run()

    assert not loaded.anew
    assert gone not in fake.store


def test_whoever_may_not_ask_goes_on(fake, client, tmp_path):
    """A token may be for updates only."""
    files = write_parts(tmp_path, LINES, 3)
    progress_of(files).keep(Position(1))
    loaded = loading(client, files, told=scripted(fake, 400, [(403, {}, b"no")])).run()

    assert loaded.lines == 800
    assert set(fake.store) == quads(LINES[400:])


@pytest.mark.parametrize("status", [429, 500, 503, 504])
def test_a_broker_that_can_not_now_is_asked_again(fake, client, tmp_path, status):
    """After longer and longer waits."""
    waits = []
    told = scripted(fake, 0, [(status, {}, b"not now")] * 5)
    loaded = loading(client, write_parts(tmp_path, LINES), sleep=waits.append, told=told).run()

    assert set(fake.store) == quads(LINES)
    assert len(waits) == 5
    assert all(0 < wait <= 30 for wait in waits)
    assert loaded.lines == len(LINES)


def test_a_broker_that_stays_away_is_given_up(fake, client, tmp_path):
    """With what is loaded, and how to go on."""
    files = write_parts(tmp_path, LINES)
    told = scripted(fake, 200, [(503, {}, b"not now")] * 10_000)
    settings = OnlineSettings(chunks=SMALL, give_up_s=0.05)
    with pytest.raises(LoadInterrupted, match=r"not now.*200 of 1200 lines are loaded.*goes on"):
        loading(client, files, settings, told=told).run()

    assert progress_of(files).read() == Position(0, 200)
    fake.replies.clear()
    assert loading(client, files).run().before == 200
    assert set(fake.store) == quads(LINES)


def test_a_broker_that_was_never_there_is_not_waited_for(tmp_path):
    """The URL may be wrong."""
    files = write_parts(tmp_path, LINES)
    with (
        SparqlClient("http://127.0.0.1:9/") as client,
        pytest.raises(ConnectionLost, match="can't reach") as caught,
    ):
        loading(client, files).run()

    assert not isinstance(caught.value, LoadInterrupted)


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_refusal_ends_it(fake, client, tmp_path, status):
    """Another attempt would be refused, too; what was loaded before is kept."""
    files = write_parts(tmp_path, LINES)
    told = scripted(fake, 100, [(status, {}, b"never")])
    with pytest.raises(BrokerRefused, match="never"):
        loading(client, files, told=told).run()

    assert progress_of(files).read() == Position(0, 100)


def test_chunks_that_are_too_large_are_halved(fake, client, tmp_path):
    """And none is so large again."""
    files = write_parts(tmp_path, LINES, 1)
    loaded = loading(client, files, told=scripted(fake, 0, [(413, {}, b"too much")] * 2)).run()

    assert set(fake.store) == quads(LINES)
    sizes = [request["body"].count(" .\n") for request in fake.requests[3:]]
    assert sizes[:5] == [100, 50, 25, 25, 50]
    assert max(sizes[6:]) <= 25
    assert loaded.lines == len(LINES)


def test_one_line_that_is_too_large_ends_it(fake, client, tmp_path):
    """With the broker's words."""
    told = scripted(fake, 0, [(413, {}, b"too much")] * 100)
    with pytest.raises(BrokerRefused, match="too much"):
        loading(client, write_parts(tmp_path, LINES, 1), told=told).run()


def test_a_line_that_can_not_be_sent_is_named(fake, client, tmp_path):
    """By part and line; what comes before its chunk is loaded."""
    files = write_parts(tmp_path, [*LINES[:250], b"nonsense\n", *LINES[250:]], 1)
    with pytest.raises(
        PartsError, match=r"part-00000\.nq, line 251: .*no quad.*200 of 1201 lines are loaded"
    ):
        loading(client, files).run()

    assert set(fake.store) == quads(LINES[:200])


@pytest.mark.parametrize("change", [1, -1])
def test_a_part_of_another_length_is_an_error(client, tmp_path, change):
    """The manifest counts its lines."""
    files = write_parts(tmp_path, LINES, 1)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["parts"][0]["lines"] += change
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    files = type(files)(str(tmp_path))

    with pytest.raises(PartsError, match="its manifest says"):
        loading(client, files).run()
    assert progress_of(files).read() != Position(1)


def test_triples_go_into_a_graph(fake, client, tmp_path):
    """And are looked for there when it goes on."""
    files = write_parts(tmp_path, LINES, 2)
    settings = OnlineSettings(chunks=SMALL, graph="g:1")
    loading(client, files, settings).run()

    assert {quad.graph_name.value for quad in fake.store} == {"g:1"}
    assert not loading(client, files, settings).run().anew


def test_a_broker_that_is_killed_and_comes_back(tmp_path):
    """Nothing is missing, whatever was under way; subscriptions and updates beside it are none of this test's."""
    files = write_parts(tmp_path / "parts", observations(20_000), 4)
    arguments = ["--data", str(tmp_path / "data"), "--set=log.level=WARNING"]
    broker = RunningBroker.start(*arguments, memory=False)
    port = httpx.URL(broker.http).port
    half = threading.Event()
    result = []
    try:
        with SparqlClient(broker.http, settings=ClientSettings(urgency=6)) as client:
            load = OnlineLoad(
                client,
                files,
                progress_of(files),
                OnlineSettings(keep_s=0.1),
                told=lambda lines: half.set() if lines > files.lines // 3 else None,
            )
            thread = threading.Thread(target=lambda: result.append(load.run()))
            thread.start()
            assert half.wait(60)
            broker.kill()
            broker = RunningBroker.start(*arguments, "--http-port", str(port), memory=False)
            thread.join(60)
            assert result
            assert not result[0].anew
            dump = httpx.get(
                f"{broker.http}/rdf-graph-store?default",
                headers={"Accept": "application/n-triples"},
                timeout=60,
            )
    finally:
        broker.kill()

    assert quads([dump.content]) == quads(observations(20_000))


def test_a_broker_without_a_journal_that_starts_anew_gets_everything(tmp_path):
    """It has forgotten what it answered."""
    files = write_parts(tmp_path / "parts", LINES, 4)
    broker = RunningBroker.start()
    port = httpx.URL(broker.http).port
    try:
        with SparqlClient(broker.http) as client:
            loading(client, files).run()
            broker.kill()
            broker = RunningBroker.start("--http-port", str(port))
            loaded = loading(client, files).run()
            assert loaded.anew
            assert client.ask(f"ASK {{ {LINES[0].decode()} }}")
    finally:
        broker.kill()


def test_the_start_is_where_nothing_is_kept(tmp_path):
    """Parts that were made anew begin there, too."""
    files = write_parts(tmp_path, LINES, 4)
    progress_of(files).keep(Position(2))
    assert progress_of(write_parts(tmp_path, LINES, 3)).read() == START
