"""The file of permissions."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from triplewire.broker.errors import ConfigError
from triplewire.broker.rights import ALL, DEFAULT, NONE, Rights, Scope
from triplewire.broker.security.permissions import Permissions

SHIPPED = Path(__file__).parents[3] / "conf" / "permissions.toml"
PUBLIC, MEASURED = "http://example.org/public", "http://example.org/measurements"


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def permissions(tmp_path):
    """Reads a text as a file of permissions."""
    return lambda text: Permissions.read(written(tmp_path / "permissions.toml", text))


def test_the_shipped_example():
    """It can be read, and is what its comments say."""
    permissions = Permissions.read(SHIPPED)
    assert permissions.of("anybody") == (
        {Scope.QUERY},
        Rights(frozenset({PUBLIC}), frozenset(), frozenset()),
    )
    scopes, rights = permissions.of("thermometer-1")
    assert scopes == {Scope.UPDATE, Scope.PUBLISH}
    assert (rights.may_read(MEASURED), rights.may_append(MEASURED), rights.may_write(MEASURED)) == (
        False,
        True,
        False,
    )
    assert (rights.may_publish("events"), rights.may_publish("other")) == (True, False)
    scopes, rights = permissions.of("gateway")
    assert scopes == {Scope.QUERY, Scope.SUBSCRIBE, Scope.UPDATE, Scope.PUBLISH}
    assert rights.may_read(DEFAULT)
    assert rights.may_append(MEASURED)
    assert rights.may_append("http://example.org/commands")
    scopes, rights = permissions.of("operator")
    assert scopes == set(Scope)
    assert (rights.read, rights.write) == (None, None)
    assert rights.may_append("http://example.org/anything")
    assert [permissions.lists(name) for name in ("gateway", "anybody", "sensors", "reporting")] == [
        True,
        False,
        False,
        False,
    ]


def test_without_a_file_everybody_may_all_but_administer():
    """And nobody is listed."""
    permissions = Permissions.read(None)
    assert permissions.of("anybody") == (set(Scope) - {Scope.ADMIN}, ALL)
    assert not permissions.lists("anybody")
    assert permissions.reread()


def test_streams_may_be_named(permissions):
    """Without a name the scope is good for all; lines without the scope widen nothing."""
    given = permissions(
        "[groups.p]\nscopes = ['publish']\npublish = ['a', 'b']\n"
        "[groups.f]\nscopes = ['subscribe']\n"
        "[clients.x]\ngroups = ['p']\n[clients.y]\ngroups = ['p', 'f']\n"
        "[clients.z]\nscopes = ['publish', 'subscribe']\npublish = ['*']\nfollow = ['a']\n"
        "[clients.w]\ngroups = ['p']\nscopes = ['publish']\npublish = ['c']\n"
    )

    def may(name):
        rights = given.of(name)[1]
        return rights.publish, rights.follow

    assert may("x") == ({"a", "b"}, set())
    assert may("y") == ({"a", "b"}, None)
    assert may("z") == (None, {"a"})
    assert may("w") == ({"a", "b", "c"}, set())


def test_an_empty_file_allows_nothing(permissions):
    """What is not there is not allowed."""
    assert permissions("").of("anybody") == (frozenset(), NONE)


def test_a_client_that_is_named_does_not_have_the_default(permissions):
    """Its lines may be fewer."""
    given = permissions("[default]\nscopes = ['query']\nread = ['*']\n[clients.a]\n")
    assert given.of("a") == (frozenset(), NONE)
    assert given.of("b") == ({Scope.QUERY}, Rights(None, frozenset(), frozenset()))


def test_groups_of_a_provider_count(permissions):
    """Those that are known, with the client's own; without any, it is the default."""
    given = permissions(
        "[default]\nscopes = ['admin']\n[groups.g]\nscopes = ['query']\nread = ['urn:g']\n"
        "[groups.h]\nscopes = ['update']\nwrite = ['default']\n[clients.a]\nread = ['urn:a']\ngroups = ['g']\n"
    )
    assert given.of("a", ["h", "unknown"], provider=True) == (
        {Scope.QUERY, Scope.UPDATE},
        Rights(frozenset({"urn:a", "urn:g"}), frozenset(), frozenset({DEFAULT})),
    )
    assert given.of("b", ["h"], provider=True)[0] == {Scope.UPDATE}
    assert given.of("b", ["unknown"], provider=True)[0] == {Scope.ADMIN}


def test_a_provider_s_client_is_nobody_here(permissions):
    """Else whoever registers first would have its rights."""
    given = permissions("[clients.a]\nprovider = true\nscopes = ['query']\nread = ['*']\n")
    assert given.of("a") == (frozenset(), NONE)
    assert given.of("a", provider=True)[0] == {Scope.QUERY}
    assert not given.lists("a")


def test_clients_of_the_same_groups_share_their_rights(permissions):
    """One object, however many tokens."""
    given = permissions("[groups.g]\nread = ['urn:g']\n")
    assert given.of("a", ["g"])[1] is given.of("b", ["g", "x"])[1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[", "permissions.toml"),
        ("[roles.a]", "roles is not known here"),
        ("[clients.a]\nscope = []", "clients.a.scope is not known here"),
        ("[groups.a]\ngroups = []", "groups.a.groups is not known here"),
        ("[default]\nprovider = true", "default.provider is not known here"),
        ("[clients.a]\nscopes = ['root']", "clients.a.scopes: 'root' is no scope"),
        ("[clients.a]\nscopes = 'query'", "clients.a.scopes must be a list of texts"),
        ("[clients.a]\nread = [5]", "clients.a.read must be a list of texts"),
        ("[clients.a]\ngroups = ['g']", r"clients.a.groups: there is no \[groups.g\]"),
        ("[clients.a]\nprovider = 1", "clients.a.provider must be true or false"),
        ("[groups.g]\nread = ['relative']", "groups.g.read: 'relative' is neither"),
        ("[groups.g]\nread = ['http://a b/']", "groups.g.read"),
        ("[groups.g]\nwrite = ['Default']", "groups.g.write"),
        ("[groups.g]\nread = ['']", "groups.g.read"),
        ("[groups.g]\nappend = ['*', 'urn:x']", "groups.g.append"),
        ("clients = ['a']", "clients must be a table of tables"),
        ("clients.a = 5", "clients.a must be a table"),
        ("default = 5", "default must be a table"),
        ('[clients.""]', "must not be empty"),
    ],
)
def test_what_it_can_t_mean_is_refused(permissions, tmp_path, text, told):
    """With the file and the path into it."""
    with pytest.raises(ConfigError, match=told) as caught:
        permissions(text)
    assert str(tmp_path / "permissions.toml") in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    """Is a wrong setting, and no broker that is open."""
    with pytest.raises(ConfigError, match="nowhere"):
        Permissions.read(tmp_path / "nowhere.toml")


def test_rereading(permissions, tmp_path):
    """The file's new lines count from then on."""
    given = permissions("[clients.a]\nscopes = ['query']\n")
    assert given.of("a")[0] == {Scope.QUERY}
    written(tmp_path / "permissions.toml", "[clients.a]\nscopes = ['update']\n[clients.b]\n")
    assert given.reread()
    assert given.of("a")[0] == {Scope.UPDATE}
    assert given.lists("b")


@pytest.mark.parametrize("text", ["[", "[clients.a]\nread = ['x']", None])
def test_a_file_that_went_wrong_changes_nothing(permissions, tmp_path, text, caplog):
    """The old permissions stay, and the log says why."""
    given = permissions("[clients.a]\nscopes = ['query']\n")
    path = tmp_path / "permissions.toml"
    path.unlink() if text is None else written(path, text)
    with caplog.at_level(logging.ERROR):
        assert not given.reread()
    assert given.of("a")[0] == {Scope.QUERY}
    assert str(path) in caplog.text
