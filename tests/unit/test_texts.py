"""Texts from elsewhere, as they can be printed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.texts import printable, printable_lines


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


def test_lines_stay():
    assert printable_lines("a\n\x1b\n\n") == "a\n\\x1b\n\n"


@given(st.text(st.characters()))
def test_every_text_can_be_printed(text):
    assert printable(text).isprintable()
    assert printable_lines(text).replace("\n", "").isprintable()
    assert printable_lines(text).count("\n") == text.count("\n")
