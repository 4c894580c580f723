import triplewire.clients


def test_every_public_name_is_there():
    """In alphabetic order, each once."""
    names = triplewire.clients.__all__

    assert names == sorted(set(names))
    assert all(hasattr(triplewire.clients, name) for name in names)
    assert all(getattr(triplewire.clients, name).__doc__ or name == "Solution" for name in names)
