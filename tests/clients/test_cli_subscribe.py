import json
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from triplewire.clients import cli

SELECT = "SELECT ?n { <a:b> <a:c> ?n }"
INSERT = "INSERT DATA { <a:b> <a:c> 'one' }"
DELETE = "DELETE DATA { <a:b> <a:c> 'one' }"


@contextmanager
def following(*arguments):
    """The command in a process of its own; ended by SIGINT."""
    command = [sys.executable, "-P", "-m", "triplewire.clients", "subscribe", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.errors = process.communicate(timeout=20)[1]


def follow(fake, *arguments):
    return cli.run(["subscribe", "--url", fake.ws, *arguments])


def test_rows_are_printed_as_they_come(fake):
    """Line by line, through a pipe too; Ctrl-C unsubscribes and ends with 0."""
    with following("--url", fake.ws, SELECT) as process:
        assert process.stdout.readline() == "#\t?n\n"
        fake.update(INSERT)
        assert process.stdout.readline() == '+\t"one"\n'
        fake.update(DELETE)
        assert process.stdout.readline() == '-\t"one"\n'

    assert (process.returncode, process.errors) == (0, "")
    assert type(fake.said[-1]).__name__ == "UnsubscribeMessage"


def test_a_lost_connection_is_told_and_only_the_difference_printed(fake):
    """On standard error, so that the output stays rows."""
    fake.update(INSERT)
    with following("--url", fake.ws, SELECT) as process:
        assert process.stdout.readline() == "#\t?n\n"
        assert process.stdout.readline() == '+\t"one"\n'
        fake.stop()
        assert "connecting again" in process.stderr.readline()
        fake.update("INSERT DATA { <a:b> <a:c> 'two' }")
        fake.start()
        assert process.stdout.readline() == '+\t"two"\n'
        assert "connected again" in process.stderr.readline()

    assert process.returncode == 0


def test_it_can_be_ended_while_the_broker_is_away(fake):
    """By SIGTERM too."""
    with following("--url", fake.ws, SELECT) as process:
        process.stdout.readline()
        fake.stop()
        process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    fake.start()


def test_it_can_be_ended_before_the_first_results(fake):
    """Nothing is left behind."""
    fake.silent = True
    with following("--url", fake.ws, SELECT) as process:
        fake.until(lambda: fake.said)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_as_json_notifications_are_the_protocols_own(fake):
    """One a line, the first results too."""
    fake.update(INSERT)
    with following("--url", fake.ws, "--json", "--alias", "mine", SELECT) as process:
        first = json.loads(process.stdout.readline())["notification"]
        fake.update(DELETE)
        changed = json.loads(process.stdout.readline())["notification"]

    assert (first["alias"], first["sequence"], changed["sequence"]) == ("mine", 0, 1)
    assert changed["removedResults"]["results"]["bindings"] == [{"n": {"type": "literal", "value": "one"}}]


def test_it_ends_after_as_many_notifications_as_were_wanted(fake):
    """First results are none."""
    with following("--url", fake.ws, "--count", "2", SELECT) as process:
        process.stdout.readline()
        fake.update(INSERT)
        fake.update(DELETE)
        assert process.wait(20) == 0
        assert process.stdout.read() == '+\t"one"\n-\t"one"\n'
    assert fake.subscriptions == 0


def test_with_a_count_of_nothing_it_prints_the_answer(fake, capsys):
    """As a query would."""
    fake.update(INSERT)

    assert follow(fake, "--count", "0", SELECT) == 0
    assert capsys.readouterr().out == '#\t?n\n+\t"one"\n'


def test_a_query_of_a_profile_is_followed_at_its_url(fake, profile, capsys):
    """With its forced bindings."""
    fake.update("INSERT DATA { <http://example.org/two> <http://example.org/value> 8 }")

    arguments = [
        "subscribe",
        "--jsap",
        str(profile),
        "--id",
        "VALUES",
        "--bind",
        "sensor=ex:two",
        "--count",
        "0",
    ]
    assert cli.run(arguments) == 0
    assert capsys.readouterr().out == '#\t?value\n+\t"8"^^<http://www.w3.org/2001/XMLSchema#integer>\n'


def test_a_url_that_is_given_is_over_the_profiles(fake, profile, capsys):
    """Also one in the environment."""
    profile.write_text(profile.read_text().replace("127.0.0.1", "nowhere.invalid"))

    arguments = ["subscribe", "--jsap", str(profile), "--id", "VALUES", "--count", "0", "--url", fake.ws]
    assert cli.run(arguments) == 0


def test_the_dataset_can_be_given(fake, capsys):
    """As for a query."""
    assert follow(fake, "--count", "0", "--default-graph", "http://g/1", SELECT) == 0
    assert fake.said[0].query.default_graphs == ("http://g/1",)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--id", "VALUES"],
        ["--bind", "a=b", SELECT],
        ["--jsap", "PROFILE", SELECT],
        ["--jsap", "PROFILE", "--id", "VALUES", SELECT],
        ["--jsap", "PROFILE", "--id", "VALUES", "--bind", "sensor"],
        ["--count", "-1", SELECT],
        ["--url", "localhost", SELECT],
    ],
)
def test_what_does_not_go_together_is_wrong_usage(fake, profile, capsys, arguments):
    """Before anything is opened."""
    assert follow(fake, *(str(profile) if word == "PROFILE" else word for word in arguments)) == 2
    assert fake.said == []


def test_an_id_that_the_profile_has_not_ends_with_1(profile, capsys):
    """And tells which there are."""
    assert cli.run(["subscribe", "--jsap", str(profile), "--id", "VALUE"]) == 1
    assert "VALUES" in capsys.readouterr().err


def test_a_broker_that_is_away_ends_with_3(capsys):
    """It was never there: nothing to connect to again."""
    assert cli.run(["subscribe", "--url", "ws://127.0.0.1:1", SELECT]) == 3
    assert "can't connect to ws://127.0.0.1:1/subscribe" in capsys.readouterr().err


def test_a_reader_that_has_enough_is_no_error(fake):
    """As `head` in a pipe."""
    with following("--url", fake.ws, SELECT) as process:
        process.stdout.readline()
        process.stdout.close()
        process.stdout = None
        fake.update(INSERT)
        assert process.wait(20) == 0
