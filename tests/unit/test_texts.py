"""Texts from elsewhere as they can be printed; sizes, times and numbers as people write them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.errors import UsageError
from halftrip.texts import printable, printable_lines, shortened
from halftrip.units import format_size, parse_duration, parse_share, parse_size, significant


@pytest.mark.parametrize(("text", "shown"), [
    ("tcp, 5 µs", "tcp, 5 µs"),
    ("a\tb\nc\r\u2028d", "a b c  d"),
    ("\x1b[2J", r"\x1b[2J"),
    ("\x9b2J\x7f\0", r"\x9b2J\x7f\x00"),
    ("\u202eabc", r"\u202eabc"),
    ("\udc80", r"\udc80"),
])  # fmt: skip
def test_what_a_terminal_obeys_is_escaped(text, shown):
    assert printable(text) == shown


def test_a_long_text_is_cut_off():
    assert printable("a" * 300, 200) == "a" * 200 + "..."
    assert printable("a" * 200, 200) == "a" * 200


@settings(max_examples=30)
@given(st.text(st.characters()), st.integers(4, 50))
def test_every_text_can_be_printed_and_shortened(text, longest):
    assert printable(text).isprintable()
    assert printable_lines(text).replace("\n", "").isprintable()
    assert printable_lines(text).count("\n") == text.count("\n")
    assert all(len(word) <= longest for word in shortened(text, longest).split())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("--sizes: 'a b' is not a size", "--sizes: 'a b' is not a size"),
        ("'" + "a " * 300 + "' is not a size", "'" + "a " * 98 + "... is not a size"),
        ('"' + "it's " * 300 + '" is not', '"' + ("it's " * 300)[:196] + "... is not"),
        ("9" * 400 + " is too many", "9" * 197 + "... is too many"),
        ("'it\\'s' and on", "'it\\'s' and on"),
    ],
)
def test_what_somebody_wrote_is_shortened(text, shown):
    assert shortened(text) == shown


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
@given(st.integers(0, 1 << 50), st.floats(1e-6, 1e9), st.integers(2, 6))
def test_a_formatted_size_reads_as_itself_and_significant_digits_are_kept(size, value, digits):
    assert parse_size(format_size(size)) == size
    shown = float(significant(value, digits).replace(",", ""))
    assert abs(shown - value) <= 0.51 * 10 ** (1 - digits) * value


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


@pytest.mark.parametrize(("value", "shown"), [
    (0.15234, "0.1523"), (81.126, "81.13"), (13122.7, "13,123"), (0, "0"),
    (1.5e-7, "0.0000001500"), (float("nan"), "nan"), (float("inf"), "inf"),
])  # fmt: skip
def test_significant_numbers_have_groups_and_no_exponent(value, shown):
    assert significant(value) == shown
