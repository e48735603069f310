"""Texts from elsewhere, as they can be printed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.texts import printable, printable_lines, shortened


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
@given(st.text(st.characters()))
def test_every_text_can_be_printed(text):
    assert printable(text).isprintable()
    assert printable_lines(text).replace("\n", "").isprintable()
    assert printable_lines(text).count("\n") == text.count("\n")


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


@settings(max_examples=30)
@given(st.text(), st.integers(4, 50))
def test_nothing_longer_is_left_of_a_word(text, longest):
    assert all(len(word) <= longest for word in shortened(text, longest).split())
