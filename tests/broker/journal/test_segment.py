"""One file of the journal: what is a whole record, what a torn tail, and what damage."""

from __future__ import annotations

import os
import shutil
import struct
import zlib

import pytest
from support.deltas import record, replacements

from triplewire.broker.config import JournalConfig
from triplewire.broker.errors import JournalDamaged
from triplewire.broker.journal.journal import Journal
from triplewire.broker.journal.segment import (
    HEADER_BYTES,
    SegmentReader,
    file_header,
    first_sequences,
    read_header,
    segment_path,
)


@pytest.fixture
def segment(tmp_path):
    """A segment of three records, and where each begins and ends."""
    journal = Journal.open(tmp_path, JournalConfig())
    path = segment_path(tmp_path, 1)
    ends = [HEADER_BYTES]
    for delta in replacements(3).deltas:
        record(journal, [delta])
        ends.append(path.stat().st_size)
    journal.close()
    return path, ends


def read(path, *, last=True):
    """The sequence numbers that are read, and the torn bytes behind them."""
    reader = SegmentReader(path)
    try:
        return [frame.sequence for frame in reader.frames()], reader.finish(last=last)
    finally:
        reader.close()


def test_records_in_order(segment):
    """Each with its time, and the header with that of the first."""
    path, _ = segment
    reader = SegmentReader(path)
    assert [(frame.sequence, frame.time_ms) for frame in reader.frames()] == [
        (n, 1_000_000) for n in (1, 2, 3)
    ]
    assert reader.header.time_ms == 1_000_000
    assert reader.finish(last=False) == 0
    reader.close()


def test_up_to_a_limit(segment):
    """What lies behind the limit is not even looked at."""
    path, ends = segment
    with path.open("r+b") as file:
        file.seek(ends[2])
        file.write(b"garbage")
    reader = SegmentReader(path)
    assert [frame.sequence for frame in reader.frames(2)] == [1, 2]
    reader.close()


def test_a_torn_tail_at_every_byte(segment):
    """Wherever the last record ends too early, the records before it are all there."""
    path, ends = segment
    for size in range(ends[2], ends[3]):
        os.truncate(path, ends[3] - 1)
        os.truncate(path, size)
        assert read(path) == ([1, 2], size - ends[2])
        if size > ends[2]:
            with pytest.raises(JournalDamaged, match="later segments follow") as caught:
                read(path, last=False)
            assert caught.value.offset == ends[2]


def test_a_tail_of_zeros_at_every_byte(segment):
    """The file was made longer, and its bytes never came."""
    path, ends = segment
    whole = path.read_bytes()
    for size in range(ends[2], ends[3]):
        path.write_bytes(whole[:size] + bytes(ends[3] - size))
        assert read(path) == ([1, 2], ends[3] - ends[2])


def test_zeros_behind_the_last_record(segment):
    """More of them than are read at once."""
    path, ends = segment
    os.truncate(path, ends[3] + 3_000_000)
    assert read(path) == ([1, 2, 3], 3_000_000)


def test_a_wrong_bit_at_every_byte(segment):
    """Is found, with the record that it is in; in the last segment as in any other."""
    path, ends = segment
    whole = bytearray(path.read_bytes())
    for place in range(len(whole)):
        whole[place] ^= 1 << place % 8
        path.write_bytes(whole)
        for last in (True, False):
            with pytest.raises(JournalDamaged) as caught:
                read(path, last=last)
            assert caught.value.path == str(path)
            if place >= HEADER_BYTES:
                assert caught.value.offset == max(end for end in ends if end <= place)
        whole[place] ^= 1 << place % 8


def test_a_segment_that_was_hardly_begun(segment):
    """A header cut short is a torn tail of the last segment; zeros too."""
    path, _ = segment
    whole = path.read_bytes()
    for size in range(HEADER_BYTES):
        path.write_bytes(whole[:size])
        assert read(path) == ([], size)
        with pytest.raises(JournalDamaged, match="a segment's header"):
            read(path, last=False)
    path.write_bytes(bytes(5000))
    assert read(path) == ([], 5000)
    path.write_bytes(bytes(5000) + b"x")
    with pytest.raises(JournalDamaged, match="the beginning"):
        read(path)


@pytest.mark.parametrize("content", [b"x", b"TWJ\r\nX", b"TWJ\n\x1a\n\0" + bytes(60), b"\x89PNG" * 40])
def test_another_file_is_refused(segment, content):
    """Whatever has the name of a segment must begin like one."""
    path, _ = segment
    path.write_bytes(content)
    with pytest.raises(JournalDamaged, match="the beginning of a segment"):
        read(path)


def test_a_file_under_another_name_is_refused(segment):
    """A segment says where it belongs."""
    path, _ = segment
    shutil.copy(path, path.with_name(f"{7:020}.twj"))
    with pytest.raises(JournalDamaged, match="the file's name, not 1"):
        read_header(path.with_name(f"{7:020}.twj"))


def test_a_later_format_is_refused(segment):
    """By its version."""
    path, _ = segment
    header = bytearray(file_header(1, 0))
    struct.pack_into("<I", header, 8, 2)
    struct.pack_into("<I", header, HEADER_BYTES - 4, zlib.crc32(header[:-4]))
    path.write_bytes(header)
    with pytest.raises(JournalDamaged, match="version 1 of the format, not 2"):
        read(path)


def test_a_record_in_another_s_place_is_damage(segment):
    """Whole, but not the one that must come."""
    path, ends = segment
    whole = path.read_bytes()
    path.write_bytes(whole[: ends[1]] + whole[ends[2] :])
    with pytest.raises(JournalDamaged, match="record 2, not 3") as caught:
        read(path)
    assert caught.value.offset == ends[1]


def test_a_reader_goes_on(segment):
    """It came to the end, and more was appended."""
    path, ends = segment
    whole = path.read_bytes()
    path.write_bytes(whole[: ends[1] + 20])
    reader = SegmentReader(path)
    assert [frame.sequence for frame in reader.frames()] == [1]
    with path.open("ab") as file:
        file.write(whole[ends[1] + 20 :])
    assert [frame.sequence for frame in reader.frames()] == [2, 3]
    reader.close()


def test_only_segments_are_listed(tmp_path):
    """By their names, in order; other files may lie there."""
    assert first_sequences(tmp_path) == []
    for name in (f"{20:020}.twj", f"{3:020}.twj", "notes.txt", "1.twj"):
        path = segment_path(tmp_path, 1).with_name(name)
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert first_sequences(tmp_path) == [3, 20]
