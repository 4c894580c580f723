"""On the W3C's queries and data, and whatever updates: each subscription hears what `NaiveSpu` says, and nothing else.

Each dataset of the suites is a broker's; its queries are subscribed to, some more of the same folder, and of each some with
other constants.  Then come updates made of the terms of all of them.

    TRIPLEWIRE_PAIRS=1000000 pytest -s tests/spu/test_w3c_equivalence.py    go on until so many pairs are compared
    TRIPLEWIRE_SEED=7                                                       with other updates; 0 is the default
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import count
from random import Random
from typing import TYPE_CHECKING

import pytest
from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, RdfFormat, parse
from support.equivalence import Disagreement, Gone, Judged, Tally, reproduction, shrunk
from support.random_updates import Updates, block, wishes
from w3c.manifests import ROOT, Data, cases, path_of

from triplewire.broker.model import Query, Update
from triplewire.broker.tokens import splice, tokens
from triplewire.spu.joined import JoinedRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from support.equivalence import Step
    from w3c.manifests import Case

CASES = [case for case in cases("QueryEvaluationTest", "CSVResultFormatTest") if "/service/" not in case.name]
SHARES = 4
SEED = int(os.environ.get("TRIPLEWIRE_SEED", "0"))
PAIRS = int(os.environ.get("TRIPLEWIRE_PAIRS", "24000"))
ROUNDS = 14  # updates to each dataset before it begins anew
_PROGRESS = 50_000
_MOST_QUADS = 120
_FAILURES = 3  # so many are shown before the test gives up
_FORMATS = {".ttl": RdfFormat.TURTLE, ".rdf": RdfFormat.RDF_XML, ".nt": RdfFormat.N_TRIPLES}

pytestmark = [
    pytest.mark.skipif(not ROOT.is_dir(), reason="the W3C suites are not beside this checkout"),
    pytest.mark.timeout(0 if "TRIPLEWIRE_PAIRS" in os.environ else 120),
]


@pytest.mark.parametrize("share", range(SHARES))
def test_each_hears_what_the_naive_unit_says(share):
    """First results, rows that come and go, silence; early, late and double subscribers alike."""
    tally, failures = Tally(), []
    datasets = _datasets()[share::SHARES]
    told = _PROGRESS
    for turn in count():
        for number, (data, own) in enumerate(datasets):
            rng = Random(f"{SEED} {share} {turn} {number}")
            judged = Judged(tally, union=rng.random() < 0.2)
            try:
                _play(judged, rng, data, own)
            except Disagreement:
                smaller = shrunk(judged.steps, union=judged.union)
                failures.append(reproduction(smaller, union=judged.union))
            finally:
                judged.store.close()
            if len(failures) == _FAILURES:
                break
            if tally.pairs.total() >= told:
                told += _PROGRESS
                print(f"share {share}, seed {SEED}, turn {turn}: {tally.pairs.total()} pairs", flush=True)
        if failures or tally.pairs.total() >= PAIRS / SHARES:
            break
    print(f"\nshare {share}, seed {SEED}, {turn + 1} turns\n{tally.table()}", flush=True)
    assert not failures, "\n\n".join(failures)
    assert tally.pairs.total() >= PAIRS / SHARES
    assert tally.changed.total() > tally.pairs.total() / 20
    assert {kind.unit.partition(" ")[0].strip(",") for kind, changed in tally.changed.items() if changed} >= {
        "Shaped",
        "Naive",
    }


def _datasets() -> list[tuple[Data, list[Case]]]:
    """Each dataset with the cases on it."""
    found: dict[Data, list[Case]] = {}
    for case in CASES:
        found.setdefault(case.data, []).append(case)
    return list(found.items())


def _play(judged: Judged, rng: Random, data: Data, own: Sequence[Case]) -> None:
    quads = list(_quads(data))
    if len(quads) > _MOST_QUADS:
        quads = rng.sample(quads, _MOST_QUADS)
    judged.take(_insertion(quads))
    folder = own[0].name.rpartition("/")[0]
    others = [case for case in CASES if case.name.startswith(f"{folder}/") and case not in own]
    chosen = rng.sample(own, min(len(own), 8)) + rng.sample(others, min(len(others), 4))
    asked = [query for case in chosen for query in _queries(case, rng, quads)]
    nodes = [quad.subject for quad in quads if isinstance(quad.subject, NamedNode)]
    if nodes:
        asked.append(Query(f"DESCRIBE {rng.choice(nodes)}"))
    named = sorted({quad.graph_name for quad in quads} - {DefaultGraph()}, key=str)
    wanted, held = [], []
    for query in asked:
        analysis = judged.analyse(query)
        if analysis.volatile:
            continue  # it is another answer each time
        if rng.random() < 0.8 and not judged.take(query):
            continue  # another constant made it no query
        held.append(query)
        wanted += wishes(analysis, named)
    if not held:
        return
    updates = Updates(rng, quads, wanted)
    for _ in range(ROUNDS):
        present = sorted(judged.store.dataset.store, key=str)
        judged.take(updates.any(present) if len(present) < 3 * _MOST_QUADS else Update("CLEAR ALL"))
        if rng.random() < 0.4:
            judged.take(rng.choice(held))  # a late one, or one more of the same
        if rng.random() < 0.2 and judged.queries:
            judged.take(Gone(rng.choice(judged.queries)))


def _queries(case: Case, rng: Random, quads: Sequence[Quad]) -> Iterator[Query]:
    """The case's query, and the same with other constants."""
    text = case.based_text
    yield Query(text)
    found = list(tokens(text))
    # Behind the declarations, and not in front of a datatype or in place of a path's step: those would end the query.
    start = next(
        (token.start for token in found if token.is_word("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")), len(text)
    )
    places = [token for token in found if token.start > start and token.kind in {"iri", "pname", "number"}]
    for _ in range(2 if places else 0):
        changed = sorted(rng.sample(places, rng.choice([1, 1, min(2, len(places))])), key=lambda t: t.start)
        yield Query(
            splice(text, [(token.start, token.end, _other(token.kind, rng, quads)) for token in changed])
        )


def _other(kind: str, rng: Random, quads: Sequence[Quad]) -> str:
    if kind == "number":
        return rng.choice(["1", "2", "01", "1.0", "2.5", "1e0", "0"])
    terms = [term for quad in quads for term in quad if isinstance(term, NamedNode)]
    return str(rng.choice([*terms, NamedNode("http://example.org/missing")]))


def _quads(data: Data) -> Iterator[Quad]:
    for iri, graph in [*((iri, None) for iri in data.default), *((file, name) for name, file in data.named)]:
        path = path_of(iri)
        name = DefaultGraph() if graph is None else NamedNode(graph)
        for quad in parse(path=path, format=_FORMATS[path.suffix], base_iri=iri, rename_blank_nodes=True):
            yield Quad(quad.subject, quad.predicate, quad.object, name)


def _insertion(quads: Sequence[Quad]) -> Update:
    """All of it in one update, of which each line is one too; blank nodes need one line."""
    blank = [quad for quad in quads if any(isinstance(term, BlankNode) for term in quad)]
    ground = [quad for quad in quads if quad not in blank]
    lines = [f"INSERT DATA {{ {block(quad)} }} ;" for quad in ground]
    lines += [f"INSERT DATA {{ {' '.join(map(block, blank))} }} ;"] if blank else []
    return Update("\n".join(["# data", *lines]))


def test_a_wrong_unit_is_found_out(monkeypatch):
    """One that forgets what went does not pass, and what is shown of it is a few steps."""
    after = JoinedRows.after

    def forgetful(self, delta, dataset):
        came, _ = after(self, delta, dataset)
        return came, Counter()

    monkeypatch.setattr(JoinedRows, "after", forgetful)
    steps = _first_failure()
    assert len(steps) <= 4
    assert "told nothing" in reproduction(steps)


def _first_failure() -> list[Step]:
    """The fewest steps of the first disagreement."""
    for number, (data, own) in enumerate(_datasets()):
        judged = Judged()
        try:
            _play(judged, Random(number), data, own)
        except Disagreement:
            return shrunk(judged.steps)
    raise AssertionError("nothing disagrees")
