from triplewire.clients import cli


def test_it_makes_the_update(fake, capsys):
    """And says nothing."""
    assert cli.run(["update", "--url", fake.http, "INSERT DATA { <a:s> <a:p> 1 }"]) == 0

    assert fake.store.query("ASK { <a:s> <a:p> 1 }")
    assert capsys.readouterr() == ("", "")


def test_the_update_can_be_in_a_file(fake, tmp_path):
    """With -f."""
    file = tmp_path / "u.ru"
    file.write_text("INSERT DATA { <a:s> <a:p> 'ü' }", encoding="utf-8")

    assert cli.run(["update", "--url", fake.http, "-f", str(file)]) == 0
    assert fake.store.query("ASK { <a:s> <a:p> 'ü' }")


def test_the_dataset_can_be_given(fake):
    """As USING and USING NAMED."""
    cli.run(
        [
            "update",
            "--url",
            fake.http,
            "--using-graph",
            "http://g/1",
            "--using-named-graph",
            "http://g/2",
            "CLEAR ALL",
        ]
    )

    assert fake.requests[0]["params"] == {
        "using-graph-uri": ["http://g/1"],
        "using-named-graph-uri": ["http://g/2"],
    }


def test_an_update_that_is_refused_ends_with_1(fake, capsys):
    """And one line."""
    assert cli.run(["update", "--url", fake.http, "INSERT"]) == 1
    assert capsys.readouterr().err.startswith("triplewire: ")
