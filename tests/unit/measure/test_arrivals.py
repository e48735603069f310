"""When the responder is asked to say when messages arrive."""

import pytest

from halftrip.measure.batch import CLOCK_SHARE, Arrivals, Stopping
from harness.sampling import sample, steady

COST = 40.0
LIMIT = COST / CLOCK_SHARE
STOPPING = Stopping(ci=None, time=0.002)


@pytest.mark.parametrize(("ns", "asked"), [(0.9 * LIMIT, False), (1.1 * LIMIT, True)])
def test_only_where_that_costs_little_of_a_sample(ns, asked):
    sampling = sample(STOPPING, steady(ns), clock_cost=COST / 2, arrivals_cost=COST)
    # A sample is one iteration in both cases.
    assert sampling.sampler.iterations == 1
    assert {batch.arrivals for batch in sampling.batches if batch.keep} == {asked}
    assert not any(batch.arrivals for batch in sampling.batches if not batch.keep)


def test_the_first_batch_decides_and_has_to_be_of_one_iteration():
    arrivals = Arrivals(COST)
    assert not arrivals.are_wanted(8, 100 * LIMIT)
    assert arrivals.are_wanted(1, LIMIT)
    assert arrivals.are_wanted(1, LIMIT / 2)
    assert not arrivals.are_wanted(2, LIMIT)
    assert not Arrivals(COST).are_wanted(1, LIMIT / 2)
    # Where messages do not take turns there are none.
    assert not Arrivals(None).are_wanted(1, 100 * LIMIT)
