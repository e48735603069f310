"""Which copies bound the messages of a run."""

import pytest

from halftrip.measure.bounds import COPY_SIZES, copy_sizes


@pytest.mark.parametrize(
    ("largest", "copies"),
    [
        (0, [4096, 65536]),
        (4096, [4096, 65536]),
        (65536, [4096, 65536, 1 << 20]),
        (1 << 21, list(COPY_SIZES)),
        (1 << 30, list(COPY_SIZES)),
    ],
)
def test_copies_are_those_within_the_first_caches_and_one_larger_than_the_messages(largest, copies):
    assert copy_sizes(largest) == copies
