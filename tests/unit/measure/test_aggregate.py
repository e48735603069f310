"""What several pairs transferred together, while all of them were active."""

import msgspec
import numpy as np
import pytest

from halftrip.measure.aggregate import aggregate
from halftrip.results.block import Block
from halftrip.results.counts import Delivery
from harness import runs
from harness.runs import times


def measured(pair, blocks, iterations=3, transport="shm"):
    made = runs.measurement(transport, pair=pair, iterations=iterations, slice=4, launch=2)
    return msgspec.structs.replace(made, blocks=blocks)


def block(samples, start=0, **fields):
    return Block(times=times(*samples), start=start, **fields)


@pytest.mark.parametrize(
    ("starts", "offsets", "span", "samples"),
    [
        ((0, 0), (0, 0), 1000, 20),
        # The second begins half way through the first.
        ((0, 500), (0, 0), 500, 10),
        # Its clock is ahead by as much.
        ((0, 500), (0, 500), 1000, 20),
        # A sample that is partly within the time counts in part.
        ((0, 930), (0, 0), 70, 1.4),
        ((0, 1000), (0, 0), None, None),
    ],
)
def test_it_counts_the_messages_of_the_time_in_which_all_pairs_were_active(
    starts, offsets, span, samples
):
    pairs = [
        measured(pair, [block([100] * 10, start)])
        for pair, start in zip([(0, 2), (1, 3)], starts, strict=True)
    ]
    found = aggregate(pairs, offsets)
    # Two messages, one after the other, in each of three iterations.
    assert found.spans == ([] if span is None else [span])
    assert found.messages == ([] if span is None else [pytest.approx(6 * samples)])
    assert (found.slice, found.launch, found.pairs) == (4, 2, [(0, 2), (1, 3)])
    assert found.configuration == pairs[0].configuration


def test_only_what_all_transfer_at_the_same_time_counts():
    """A pair that ends early ends it: the faster ones go on for as long as they like."""
    pairs = [
        measured((0, 3), [block([100] * 10)]),
        measured((1, 4), [block([50] * 100)]),
        measured((2, 5), [block([20] * 20, 200)]),
    ]
    found = aggregate(pairs, [0, 0, 0])
    assert found.spans == [400]
    assert found.messages == [pytest.approx(6 * (4 + 8 + 20))]
    # Between blocks nothing is: two blocks of one second, with a second between them, beside one of
    # three seconds.
    second = 10**9
    pairs = [
        measured((0, 2), [block([second // 4] * 4), block([second // 4] * 4, 2 * second)]),
        measured((1, 3), [block([second] * 3)]),
    ]
    found = aggregate(pairs, [0, 0])
    assert found.spans == [3 * second]
    assert found.messages == [pytest.approx(6 * (8 + 3))]
    # Messages that were lost do not count, and their time does.
    lossy = block([100] * 8, timed_out=200, delivery=Delivery(sent=10, lost=2, reordered=0))
    pairs = [measured(pair, [lossy], iterations=1, transport="udp") for pair in ((0, 2), (1, 3))]
    found = aggregate(pairs, [0, 0])
    assert found.spans == [1000]
    assert np.sum(found.messages) < 2 * 2 * 10
