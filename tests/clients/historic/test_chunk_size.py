import pytest

from triplewire.clients.historic.chunk_size import ChunkSettings, ChunkSize

SETTINGS = ChunkSettings(target_s=0.02, least_lines=50, most_lines=10_000, first_lines=500)


def settled(line_s, overhead_s=0.0):
    """The size after a while, where each line takes the broker so long."""
    size = ChunkSize(SETTINGS, overhead_s)
    for _ in range(50):
        size.took(size.lines, overhead_s + size.lines * line_s)
    return size.lines


@pytest.mark.parametrize("line_s", [10e-6, 40e-6, 200e-6])
def test_a_chunk_takes_the_target(line_s):
    """Whatever a line costs."""
    assert settled(line_s) * line_s == pytest.approx(SETTINGS.target_s, rel=0.05)


@pytest.mark.parametrize(("line_s", "lines"), [(1e-7, 10_000), (1.0, 50), (0.0, 10_000)])
def test_the_size_is_bounded(line_s, lines):
    """By the settings."""
    assert settled(line_s) == lines


def test_a_far_broker_gets_no_smaller_chunks():
    """What the way costs is no work of the broker's."""
    assert settled(10e-6, overhead_s=0.2) == pytest.approx(2000, rel=0.05)


def test_one_slow_answer_does_not_shrink_it_to_nothing():
    """A snapshot may have been under way."""
    size = ChunkSize(SETTINGS)
    for _ in range(20):
        size.took(size.lines, size.lines * 10e-6)
    before = size.lines
    size.took(size.lines, 3.0)

    assert before // 2 <= size.lines < before
    for _ in range(40):
        size.took(size.lines, size.lines * 10e-6)
    assert size.lines == pytest.approx(before, rel=0.1)


def test_what_was_too_large_does_not_come_again():
    """Not even below the least size."""
    size = ChunkSize(SETTINGS)
    size.too_large(60)
    for _ in range(20):
        size.took(size.lines, 1e-6)

    assert size.lines == 30
    size.too_large(1)
    assert size.lines == 1
