import pytest

from triplewire.clients.notebook.screens import FileScreen, in_notebook


def test_a_file_is_replaced_as_a_whole(tmp_path):
    """And nothing is left beside it."""
    path = tmp_path / "chart.png"
    screen = FileScreen(path)
    screen.show(b"first", "words")
    with path.open("rb") as reader:
        screen.show(b"second", "words")
        assert reader.read() == b"first", "who had begun reads on in the picture before"

    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_can_not_be_written(tmp_path):
    """The folder is not there; or there is a folder in its place, and then nothing is left beside it."""
    with pytest.raises(FileNotFoundError, match="absent"):
        FileScreen(tmp_path / "absent" / "chart.png").show(b"", "")
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(IsADirectoryError):
        FileScreen(folder).show(b"", "")

    assert list(tmp_path.iterdir()) == [folder]


def test_this_is_no_notebook():
    """The cell's screen is tested where there is a kernel: in the example notebook."""
    assert not in_notebook()
