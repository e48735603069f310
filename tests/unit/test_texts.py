"""Texts that come from elsewhere are printed in one line, without what a terminal obeys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.texts import printable, shortened


@given(st.text(st.characters(codec=None)))
def test_nothing_but_characters_is_printed(text):
    assert printable(text).isprintable()


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


@given(st.text(), st.integers(4, 50))
def test_nothing_longer_is_left_of_a_word(text, longest):
    assert all(len(word) <= longest for word in shortened(text, longest).split())
