"""Size schedules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.errors import UsageError
from halftrip.plan.sizes import DEFAULT_SIZES, MOST_SIZES, parse_sizes, perturb
from harness.plans import mistake


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("8", (8,)),
        (DEFAULT_SIZES, tuple(2**power for power in range(23))),
        ("8,64,1K", (8, 64, 1024)),
        ("1..8", (1, 2, 4, 8)),
        ("1..7", (1, 2, 4)),
        ("1..64*4", (1, 4, 16, 64)),
        ("0..12+4", (0, 4, 8, 12)),
        ("0..13+4", (0, 4, 8, 12)),
        ("1.5K..6K", (1536, 3072, 6144)),
        ("64,8,8", (8, 64)),
        ("0,1..4,100", (0, 1, 2, 4, 100)),
        ("1..10*1.5", (1, 2, 3, 5, 8)),
        ("0..2K+1K", (0, 1024, 2048)),
        ("8:64", (8, 16, 32, 64)),
        ("1:64*4,3", (1, 3, 4, 16, 64)),
    ],
)
def test_schedules_are_read(text, sizes):
    assert parse_sizes(text) == sizes


NO_SIZES = ", 8,,9 8.. ..8 9..1 0..4 1..8*1 1..8*x 1..8+0 1..8*nan x 1:2:4 :8"


@pytest.mark.parametrize("text", ["", *NO_SIZES.split()])
def test_other_texts_are_an_error_of_one_line(text):
    mistake(lambda: parse_sizes(text))


@pytest.mark.parametrize("text", ["0..1G+1", "1..4M*1.0000001"])
def test_a_schedule_that_is_too_long_is_refused_before_it_is_made(text):
    with pytest.raises(UsageError, match=str(MOST_SIZES)):
        parse_sizes(text)


@given(st.integers(1, 1 << 40), st.integers(0, 1 << 40), st.floats(1.01, 100))
def test_multiplied_ranges_stay_within_their_ends(first, more, factor):
    sizes = parse_sizes(f"{first}..{first + more}*{factor}")
    assert sizes[0] == first
    assert sizes[-1] <= first + more
    assert list(sizes) == sorted(set(sizes))


@pytest.mark.parametrize(
    ("sizes", "by", "perturbed"),
    [
        ((64, 128), 3, (61, 64, 67, 125, 128, 131)),
        ((8, 1, 8), 0, (1, 8)),
        ((0, 1, 2), 0, (0, 1, 2)),
        ((0, 4), 4, (0, 4, 8)),
        ((1, 2, 3), 1, (1, 2, 3, 4)),
        ((4,), 4, (4, 8)),
        ((), 3, ()),
    ],
)
def test_sizes_are_perturbed(sizes, by, perturbed):
    assert perturb(sizes, by) == perturbed
