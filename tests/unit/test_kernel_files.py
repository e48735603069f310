"""Files of a kernel: missing, unreadable, malformed, and as they should be."""

import os

import pytest

from halftrip.kernel_files import Reader
from harness.kernel import Kernel


@pytest.fixture
def kernel(tmp_path):
    return Kernel(tmp_path, {"proc/text": "one \ntwo\n", "proc/empty": ""})


@pytest.fixture
def unreadable(kernel):
    """A path that cannot be read, by root neither: a directory."""
    (kernel.root / "proc/unreadable").mkdir()
    return "/proc/unreadable"


def test_text_is_the_whole_file_and_line_its_first_line_without_blanks(kernel):
    assert kernel.reader.text("/proc/text") == "one \ntwo\n"
    assert kernel.reader.line("/proc/text") == "one"
    assert kernel.reader.line("/proc/empty") == ""
    kernel("proc/blank", "\n two\n")
    assert kernel.reader.line("/proc/blank") == ""
    # Bytes that are no UTF-8 are read.
    (kernel.root / "proc/name").write_bytes(b"caf\xe9\n")
    assert kernel.reader.line("/proc/name") == "caf\xe9"


# A path that was read from another file may have any character in it.
@pytest.mark.parametrize("path", ["/proc/missing", "/proc/text/below", "/missing/file", "/a\0b"])
def test_a_missing_file_is_none_without_a_warning(kernel, path):
    reader = kernel.reader
    assert (reader.text(path), reader.line(path), reader.number(path)) == (None, None, None)
    assert reader.names(path) == []
    assert reader.take_warnings() == []


def test_an_unreadable_file_is_none_with_one_warning(kernel, unreadable):
    reader = kernel.reader
    # Some counters are for root alone.
    assert reader.number(unreadable) is None
    assert reader.take_warnings() == []
    for _ in range(3):
        assert reader.text(unreadable) is None
        assert reader.line(unreadable) is None
    assert reader.take_warnings() == [f"{unreadable}: is a directory"]
    assert reader.text(unreadable) is None
    assert reader.take_warnings() == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0\n", 0),
        (" 42 \n", 42),
        ("18446744073709551615", 2**64 - 1),
        # The kernel writes it for an unknown number.
        ("-1\n", None),
    ],
)
def test_a_number_is_read(kernel, text, number):
    kernel("sys/number", text)
    assert kernel.reader.number("/sys/number") == number
    assert kernel.reader.take_warnings() == []


@pytest.mark.parametrize(
    "text", ["", "-2", "x", "1 2", "1.5", "0x10", "\xb2", "18446744073709551616", "9" * 5000]
)
def test_a_malformed_number_is_none_with_one_warning(kernel, text):
    (kernel.root / "proc/number").write_bytes(text.encode("latin-1"))
    for _ in range(2):
        assert kernel.reader.number("/proc/number") is None
    (warning,) = kernel.reader.take_warnings()
    assert warning.startswith(f"/proc/number: {text[:40]!r}, which is not a count")


def test_counts_are_read_by_name_and_malformed_ones_left_out(kernel):
    reader = kernel.reader
    assert reader.counts("/proc/x", "eth0", ("in", "out"), ("1", "2")) == {"in": 1, "out": 2}
    assert reader.counts("/proc/x", "eth0", ("in", "out"), ("1", "?")) == {"in": 1}
    # Fewer columns than names, as in older kernels.
    assert reader.counts("/proc/x", "eth0", ("in", "out"), ("1",)) == {"in": 1}
    assert reader.counts("/proc/x", "", ("in",), (str(2**64 - 1),)) == {"in": 2**64 - 1}
    (warning,) = reader.take_warnings()
    assert warning == "/proc/x: eth0 out is '?', which is not a count of 64 bits; left out"


def test_the_root_is_put_before_every_path(kernel):
    assert kernel.reader.names("/proc") == ["empty", "text"]
    assert Reader(kernel.root / "proc").line("/text") == "one"
    assert Reader(kernel.root / "proc").names("/") == ["empty", "text"]
    assert Reader().line("/proc/self/stat").startswith(f"{os.getpid()} ")
