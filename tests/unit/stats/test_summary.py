"""The summary of launches and slices."""

import math

import numpy as np
import pytest

from halftrip.stats.median import median_interval
from halftrip.stats.summary import summarize


def test_slices_that_differ_widen_the_interval():
    generator = np.random.default_rng(1)
    calm = generator.uniform(100, 101, 50)
    later = generator.uniform(200, 201, 50)
    summary = summarize([[calm, later]], size=8, first=1.0)
    first, second = median_interval(calm), median_interval(later)
    assert (summary.low, summary.high) == (first.low, second.high)
    assert summary.samples == 100


def test_slices_count_equally_whatever_their_number_of_samples():
    generator = np.random.default_rng(1)
    short, long = generator.uniform(99, 101, 50), generator.uniform(298, 302, 5000)
    summary = summarize([[short, long]], size=8, first=1.0)
    assert summary.latency == pytest.approx(200, rel=0.01)
    assert summary.samples == 5050


def test_no_interval_where_one_slice_has_none():
    summary = summarize([[np.arange(1.0, 100.0), np.array([1.0])]], size=8, first=1.0)
    assert math.isnan(summary.low)
    assert math.isnan(summary.high)


def test_p99_needs_a_hundred_samples_of_all_slices_together():
    summary = summarize([[np.arange(1.0, 100.0)]], size=8, first=1.0)
    assert math.isnan(summary.p99)
    assert summary.max == 99
    assert summarize([[np.arange(1.0, 51.0)] * 2], size=8, first=1.0).p99 == pytest.approx(50)
