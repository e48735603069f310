"""How much each sample says of the next, and so how many count as independent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from halftrip.stats.quantile import Floats, Samples

# Sokal's window ends at so many autocorrelation times: beyond it there is noise only.
_WINDOW_TIMES = 5.0


class Autocorrelation(NamedTuple):
    """`lag1` is the correlation of the ranks of neighbours, -1 to 1; `time` the integrated
    autocorrelation time, in samples, >= 1; `effective` how many samples count as independent."""

    lag1: float
    time: float
    effective: float


def autocorrelation(samples: Samples) -> Autocorrelation:
    """The autocorrelation of `samples`, shape (n,), in time order.

    Of their ranks, so that a few spikes do not hide it (Spearman). `time` is 1 + 2 times the sum of
    the autocorrelations up to the least lag that is five times as long as the sum so far (Sokal,
    Monte Carlo Methods in Statistical Mechanics, 1997, section 3); where samples alternate, it is
    taken as 1: nothing counts for more than one.
    """
    n = samples.size
    if n < 2:
        return Autocorrelation(0.0, 1.0, float(n))
    series = ranks(samples)
    series -= series.mean()
    # By the Fourier transform, padded so that the end does not meet the start.
    size = 1 << (2 * n - 1).bit_length()
    power = np.abs(np.fft.rfft(series, size)) ** 2
    covariances = np.fft.irfft(power, size)[:n]
    if covariances[0] <= 0:  # all are equal
        return Autocorrelation(0.0, 1.0, float(n))
    coefficients = covariances / covariances[0]
    times = 2.0 * np.cumsum(coefficients) - 1.0
    ends = np.flatnonzero(np.arange(n) >= _WINDOW_TIMES * times)
    time = max(1.0, float(times[ends[0]])) if ends.size else float(times.max())
    return Autocorrelation(float(coefficients[1]), time, n / time)


def ranks(samples: Samples) -> Floats:
    """The rank of each, from 0; equal ones share the mean of theirs."""
    _, inverse, counts = np.unique(samples, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - 0.5 * (counts + 1))[inverse.reshape(-1)]
