from triplewire.clients import cli


def test_a_good_profile_ends_with_0(profile, capsys):
    """And says so."""
    assert cli.run(["jsap", "check", str(profile)]) == 0
    assert capsys.readouterr().out == f"{profile}: no problems\n"


def test_a_bad_profile_ends_with_1_and_its_problems(profile, capsys):
    """One a line, with the file."""
    profile.write_text(profile.read_text().replace("SELECT ?value", "SELEKT ?value"))

    assert cli.run(["jsap", "check", str(profile)]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{profile}: error: queries.VALUES")


def test_a_warning_alone_ends_with_0(profile, capsys):
    """It may be meant."""
    profile.write_text(profile.read_text().replace('"host"', '"hosst": 1, "host"'))

    assert cli.run(["jsap", "check", str(profile)]) == 0
    assert "warning" in capsys.readouterr().out
