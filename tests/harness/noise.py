"""Series like those of machines, whose median, correlation and modes are known."""

import math

import numpy as np
from scipy import signal


def autoregression(generator, n, rho):
    """Normal, of mean 0 and unit variance, with this first-order autocorrelation."""
    noise = generator.standard_normal(n + 200) * math.sqrt(1 - rho**2)
    return signal.lfilter([1.0], [1.0, -rho], noise)[200:]


def spikes(generator, n):
    """Normal, but that three in a hundred are late, by a time of no mean."""
    late = generator.random(n) < 0.03
    return generator.standard_normal(n) + 3.0 * generator.pareto(0.9, n) * late


def two_kinds(generator, n, share, apart):
    """Normal, but that this share is later by `apart` standard deviations."""
    return generator.standard_normal(n) + apart * (generator.random(n) < share)


KINDS = {
    "independent": lambda generator, n: generator.standard_normal(n),
    "lognormal": lambda generator, n: generator.lognormal(0, 1, n),
    "correlated": lambda generator, n: autoregression(generator, n, 0.6),
    "gamma": lambda generator, n: generator.gamma(2.0, 1.0, n),
    "spikes": spikes,
    "coarse": lambda generator, n: np.round(autoregression(generator, n, 0.6)),
}
