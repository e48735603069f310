"""Which copies bound the messages of a run."""

import pytest

from halftrip.measure.baselines import COPY_SIZES, copy_sizes


@pytest.mark.parametrize("largest", [1 << 22, 1 << 21, 1 << 30])
def test_long_messages_have_all_copies(largest):
    assert copy_sizes(largest) == list(COPY_SIZES)


@pytest.mark.parametrize("largest", [0, 1, 8, 4096])
def test_short_messages_have_the_copies_within_the_first_caches(largest):
    assert copy_sizes(largest) == [4096, 65536]


def test_messages_in_between_have_larger_copies_beside_them():
    assert copy_sizes(65536) == [4096, 65536, 1 << 20]
