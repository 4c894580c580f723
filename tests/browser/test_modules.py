"""Single modules of the page, called as they are: what they share with the Python side is compared with it."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest
from support.pages import opened

from triplewire.broker.tokens import tokens
from triplewire.gates.web.assets import assets
from triplewire.jsap.forced_bindings import bind
from triplewire.jsap.profile import Profile
from triplewire.jsap.terms import ForcedBinding

pytestmark = pytest.mark.xdist_group("browser")
URI = ForcedBinding("uri")
TEXTS = [
    "SELECT ?v ?o WHERE { ?v <urn:p> ?o FILTER(BOUND(?v) && ?v != '?v') } ORDER BY ?v",
    "SELECT (COUNT(?o) AS ?n) { ?v <urn:p?v> ?o } GROUP BY ?v HAVING (COUNT(?v) > 1)",
    "# ?v\nINSERT { ?v <urn:p> \"a ?v\", '''b \\''' ?v''' } WHERE { ?vv <urn:q> $v }",
    "ASK { ?v a ?v . { SELECT ?o { ?o <urn:p> ?v } } }",
    "PREFIX v: <urn:x#?v> SELECT * { v:?v ?v v:a.b ; <urn:p> ?v}",
]


@pytest.fixture(scope="module")
def call(browser, broker):
    """Call a function of a module."""
    with opened(browser, broker.http) as page:

        def called(module, expression, *arguments):
            return page.evaluate(
                f"async arguments => {{ const it = await import('{assets().base}/{module}.js'); return ({expression}) }}",
                list(arguments),
            )

        yield called


@pytest.mark.parametrize("text", TEXTS)
def test_forced_bindings_are_those_of_the_command_line(call, text):
    """Token by token."""
    term = "<urn:term>"
    ours = call("forced_bindings", "it.bind(arguments[0], new Map([['v', arguments[1]]]))", text, term)
    theirs = bind(text, {"v": URI}, {"v": "urn:term"}, {})
    assert [token.text for token in tokens(ours)] == [token.text for token in tokens(theirs)]


@pytest.mark.parametrize(
    "text", ["SELECT (1 AS ?v) {}", "SELECT * { VALUES ?v { 1 } }", "SELECT * { VALUES (?v ?w) { (1 2) } }"]
)
def test_what_the_text_assigns_is_refused(call, text):
    """As by the command line."""
    said = call(
        "forced_bindings",
        "(() => { try { it.bind(arguments[0], new Map([['v', '1']])) } catch (e) { return e.message } })()",
        text,
    )
    assert said == "?v can't be forced: the text assigns it"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?v ?o WHERE { ?v <urn:p> ?o FILTER(BOUND(?v) && ?v != '?v') } ORDER BY ?v",
        "SELECT ?o { ?o <urn:p> 1 { SELECT ?o { ?o <urn:q> 2 } } ?v <urn:p> ?o }",
        "CONSTRUCT { ?v <urn:r> ?o } WHERE { ?v <urn:p> ?o }",
        "CONSTRUCT WHERE { ?v <urn:p> ?o } LIMIT 3",
        "DESCRIBE ?v",
        "DESCRIBE ?v ?o { ?v <urn:p> ?o }",
        "SELECT ?o { VALUES ?s { ?v } ?s <urn:p> ?o }",
        "ASK FROM <urn:g> { ?x <urn:p> 1 }",
    ],
)
def test_several_values_are_those_of_the_command_line(call, text):
    """VALUES in the same place; nothing of what has no such variable."""
    terms = ["<urn:a>", "<urn:b>"]
    ours = call("several", "it.choose(arguments[0], new Map([['v', arguments[1]]]))", text, terms)
    theirs = bind(text, {"v": URI}, {"v": ["urn:a", "urn:b"]}, {})
    assert [token.text for token in tokens(ours)] == [token.text for token in tokens(theirs)]


@pytest.mark.parametrize(
    ("text", "term", "why"),
    [
        ("SELECT ?o { { SELECT ?o { ?v <urn:p> ?o } } }", "1", "a subselect"),
        ("SELECT ?v { SELECT ?o { ?o <urn:p> 1 } }", "1", "a subselect"),
        ("SELECT (1 AS ?v) {}", "1", "the text assigns it"),
        ("SELECT * { VALUES ?v { 1 } }", "1", "the text assigns it"),
        ("SELECT * { ?v <urn:p> 1 }", "_:b", "a blank node"),
        ("INSERT { ?v <urn:p> 1 } WHERE {}", "1", "an update"),
    ],
)
def test_where_several_values_can_t_stand_is_told(call, text, term, why):
    """In words."""
    said = call(
        "several",
        "(() => { try { it.choose(arguments[0], new Map([['v', [arguments[1], '2']]])) } catch (e) { return e.message } })()",
        text,
        term,
    )
    assert why in said


def test_the_profiles_that_come_with_the_broker_are_read(call):
    """The same entries with the same variables as the Python side finds."""
    for path in (
        files("triplewire.conf.chat") / "chat.jsap",
        files("triplewire.conf.monitoring") / "monitoring.jsap",
    ):
        text = path.read_text(encoding="utf-8")
        told = call("jsap", "it.profileOf(arguments[0])", text)
        profile = Profile.load(str(path))
        for kind, entries in (("updates", profile.updates), ("queries", profile.queries)):
            found = {each["name"]: {one["variable"] for one in each["forced"]} for each in told[kind]}
            assert found == {name: set(entry.forced_bindings) for name, entry in entries.items()}


def test_a_bag_counts(call):
    """Rows that are there twice go one by one; what was never there is an error."""
    notification = """(sequence, added, removed) => ({ sequence,
        addedResults: { head: { vars: ["x"] }, results: { bindings: added.map(row) } },
        removedResults: { head: { vars: [] }, results: { bindings: removed.map(row) } } })"""
    told = call(
        "bag",
        f"""(() => {{
            const row = value => ({{ x: {{ type: "literal", value }} }});
            const told = {notification};
            const bag = new it.Bag();
            const sizes = [[0, ["a", "a", "b"], []], [1, ["c"], ["a"]], [2, [], ["a", "b"]]].map(one => {{
                bag.apply(told(...one), 0);
                return bag.size;
            }});
            bag.settle(it.GLOW_MS);
            let said = "";
            try {{ bag.apply(told(3, [], ["a"]), 0) }} catch (error) {{ said = error.message }}
            return {{ sizes, left: bag.rows.map(entry => entry.row.x.value + entry.state), said }};
        }})()""",
    )
    assert told == {
        "sizes": [3, 3, 1],
        "left": ["c"],
        "said": "a row was removed that is not there: follow it anew",
    }


def test_quantiles_are_those_of_prometheus(call):
    """Linear within a bucket; nothing of nothing."""
    text = 'h_bucket{le="0.1"} 10\nh_bucket{le="0.2"} 30\nh_bucket{le="+Inf"} 40\nx{a="b,\\"}"} 2e3\n'
    assert call(
        "prometheus", "it.quantile(it.bucketsOf(it.samplesOf(arguments[0]), 'h'), 0.5)", text
    ) == pytest.approx(0.15)
    assert call(
        "prometheus", "it.quantile(it.bucketsOf(it.samplesOf(arguments[0]), 'h'), 0.99)", text
    ) == pytest.approx(0.2)
    assert call("prometheus", "it.quantile([], 0.5)") is None
    assert call("prometheus", "it.sumOf(it.samplesOf(arguments[0]), 'x')", text) == 2000


def test_csv_is_quoted_where_it_must_be(call):
    """RFC 4180."""
    row = {"a": {"type": "literal", "value": 'x,"y"\n'}, "b": {"type": "bnode", "value": "n"}}
    assert (
        call("download", "it.csvOf(['a', 'b', 'c'], [arguments[0]])", row) == 'a,b,c\r\n"x,""y""\n",_:n,\r\n'
    )


def test_moments_on_an_axis_are_round_and_no_two_look_the_same(call):
    """From three milliseconds to a century, wherever they begin; within the range, and neither few nor many."""
    wrong = call(
        "moments",
        """(() => {
            const wrong = [];
            const begins = [0, Date.UTC(2026, 4, 1, 18, 6, 28, 137), -1e12, Date.UTC(2024, 1, 28, 23, 59, 59, 999)];
            for (const begin of begins) {
                for (let span = 3; span < 4e12; span = Math.ceil(span * 1.07)) {
                    const found = it.dates(begin, begin + span);
                    const texts = new Set(found.map(([, text]) => text));
                    const outside = found.some(([moment]) => moment < begin || moment > begin + span);
                    if (outside || texts.size < found.length || found.length < 2 || found.length > 7) wrong.push([begin, span, found]);
                }
            }
            return wrong;
        })()""",
    )
    assert wrong == []


@pytest.mark.parametrize(
    ("span", "texts"),
    [
        (0, ["18:06:28"]),
        (300, ["18:06:28.15", "18:06:28.20", "18:06:28.25", "18:06:28.30", "18:06:28.35", "18:06:28.40"]),
        (4_000, ["18:06:29", "18:06:30", "18:06:31", "18:06:32"]),
        (9 * 3_600_000, ["20:00", "22:00", "2026-05-02", "02:00"]),
        (2 * 86_400_000, ["05-02 00:00", "05-02 12:00", "05-03 00:00", "05-03 12:00"]),
        (200 * 86_400_000, ["2026-07", "2026-09", "2026-11"]),
    ],
)
def test_a_moment_is_written_as_short_as_its_neighbors_allow(call, span, texts):
    """From six past six on the first of May."""
    found = call("moments", "it.dates(arguments[0], arguments[0] + arguments[1])", 1_777_658_788_137, span)
    assert [text for _, text in found] == texts


def test_bytes_are_told_in_si_units(call):
    """A thousand million of them are no BB."""
    told = call("scale", "[0, 999, 97.5e6, 1.5e9, 3e12].map(it.bytes)")
    assert told == ["0 B", "999 B", "97.5 MB", "1.5 GB", "3 TB"]


def test_ticks_are_round(call):
    """And within the range."""
    assert call("scale", "it.ticks(0, 1)") == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert call("scale", "it.ticks(-3, 97)") == [0, 20, 40, 60, 80]
    assert json.dumps(call("scale", "it.ticks(5, 5)")) == "[5]"
    assert call("scale", "[[0.3, 4.1], [5, 5], [-7, 93]].map(range => it.rounded(range))") == [
        [0, 5],
        [4, 6],
        [-20, 100],
    ]


def test_a_series_keeps_its_color(call):
    """Whichever row of a moment comes first; without names the variables are in the order of the query."""
    number = "http://www.w3.org/2001/XMLSchema#decimal"
    rows = [
        {
            "t": {
                "type": "literal",
                "value": f"2026-05-0{day}T00:00:00Z",
                "datatype": "http://www.w3.org/2001/XMLSchema#dateTime",
            },
            "s": {"type": "uri", "value": f"urn:{name}"},
            "b": {"type": "literal", "value": "1", "datatype": number},
            "a": {"type": "literal", "value": "2", "datatype": number},
        }
        for day in (1, 2)
        for name in "xyz"
    ]
    names = "[...it.seriesOf(arguments[0], arguments[1]).keys()]"
    orders = [
        call("series", names, ["t", "s", "a"], some) for some in (rows, rows[::-1], rows[1:] + rows[:1])
    ]
    assert orders[0] == orders[1] == orders[2]
    assert len(orders[0]) == 3
    assert call("series", names, ["t", "b", "a"], rows) == ["b", "a"]
