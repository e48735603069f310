"""Sizes, times and numbers as people write and read them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.errors import UsageError
from halftrip.units import (
    format_size,
    parse_duration,
    parse_share,
    parse_size,
    significant,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("8B", 8),
        ("64k", 65536),
        ("64KiB", 65536),
        ("64kB", 64000),
        ("1.5K", 1536),
        (" 3 M ", 3 << 20),
        ("2MB", 2_000_000),
        ("1G", 1 << 30),
        ("1GB", 1_000_000_000),
        ("123456789012345678", 123456789012345678),
    ],
)
def test_sizes_are_read(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "K", "4X", "-4", "1e3", "0.3", "1..2", "four", "4 4"])
def test_other_texts_are_no_size(text):
    with pytest.raises(UsageError, match=r"not a (size|whole number of bytes)"):
        parse_size(text)
    for large in ("9" * 5000, "9" * 400 + ".5", "2000000000G"):
        with pytest.raises(UsageError, match="is more than any memory holds"):
            parse_size(large)


@settings(max_examples=30)
@given(st.integers(0, 1 << 50))
def test_a_formatted_size_reads_as_itself(size):
    assert parse_size(format_size(size)) == size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0.3s", 0.3), ("300ms", 0.3), ("2min", 120.0), ("7", 7.0), ("5us", 5e-6), ("1h", 3600.0)],
)
def test_durations_are_read(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)
    for other in ("", "s", "-1s", "3 parsecs"):
        with pytest.raises(UsageError, match="not a time"):
            parse_duration(other)


def test_shares_are_read():
    for text, share in (("1%", 0.01), ("0.5 %", 0.005), ("0.02", 0.02)):
        assert parse_share(text) == pytest.approx(share)
    with pytest.raises(UsageError, match="not a share"):
        parse_share("one percent")


@settings(max_examples=30)
@given(st.floats(1e-6, 1e9), st.integers(2, 6))
def test_significant_digits_are_kept(value, digits):
    shown = float(significant(value, digits).replace(",", ""))
    assert abs(shown - value) <= 0.51 * 10 ** (1 - digits) * value


def test_significant_numbers_have_groups_and_no_exponent():
    assert significant(0.15234) == "0.1523"
    assert significant(81.126) == "81.13"
    assert significant(13122.7) == "13,123"
    assert significant(0) == "0"
    assert "e" not in significant(1.5e-7)
    assert [significant(value) for value in (float("nan"), float("inf"))] == ["nan", "inf"]
