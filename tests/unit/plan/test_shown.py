"""What the first screen shows is measured first."""

from hypothesis import given
from hypothesis import strategies as st

from halftrip.plan.shown import shown_first, shown_sizes
from harness import runs


@given(st.sets(st.integers(0, 1 << 24), min_size=1))
def test_the_sizes_shown_are_some_of_those_measured(sizes):
    shown = shown_sizes(sizes)
    assert set(shown) <= sizes
    assert shown == sorted(shown)
    assert min(5, len(sizes)) >= len(shown) >= min(3, len(sizes))


def test_known_sizes_or_all_of_a_few_or_evenly_chosen_ones():
    assert shown_sizes([1 << n for n in range(23)]) == [8, 1 << 10, 64 << 10, 1 << 20, 4 << 20]
    assert shown_sizes([5, 3, 9]) == [3, 5, 9]
    assert shown_sizes([1, 3, 5, 7, 9, 11, 13, 15, 17]) == [1, 5, 9, 13, 17]


def test_the_rows_of_the_first_screen():
    latencies = [runs.configuration(size=1 << n) for n in range(23)]
    messages = [
        runs.configuration(size=size, pattern="stream", window=window)
        for size in (64, 8, 1024)
        for window in (1, 64)
    ]
    delayed = runs.configuration(size=8, delay=100)
    found = shown_first([*latencies, *messages, delayed])
    sizes = sorted(each.size for each in found if not each.is_rate)
    assert sizes == [1, 8, 1 << 10, 64 << 10, 1 << 20, 4 << 20]
    assert sorted((e.size, e.window) for e in found if e.is_rate) == [(8, 1), (8, 64)]
    assert delayed not in found
    assert shown_first([]) == set()


def test_of_few_sizes_all_rows_are_shown():
    every = [runs.configuration("tcp", size) for size in (8, 1024, 65536)]
    assert shown_first(every) == set(every)
