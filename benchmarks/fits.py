"""How long all models of many curves take: 1,000 pairs x 100 sizes.

    .venv/bin/python benchmarks/fits.py [--curves N] [--sizes N]

Prints the seconds of one core, without those of reading a file. The exit status is 1 from 10 s on.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from halftrip.analysis.fit import found_pieces, hockney
from halftrip.stats.curve_times import CurveTimes, draws

_WANTED_SECONDS = 10.0
_SLICES = 10


def made(generator: np.random.Generator, sizes: int) -> CurveTimes:
    """A curve of ten slices of 2 % of noise, with a jump in the middle."""
    every = np.unique(np.logspace(0, 22, sizes, base=2.0).round())
    while every.size < sizes:
        every = np.unique(np.append(every, generator.integers(1, 1 << 22)))
    true = 1000.0 + 0.1 * every + np.where(every >= every[sizes // 2], 2000.0, 0.0)
    slices = true[:, None] * np.exp(generator.normal(0, 0.02, (sizes, _SLICES)))
    medians = np.median(slices, axis=1)
    return CurveTimes(every, medians, np.full(sizes, 0.015), list(slices), "slices")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--curves", type=int, default=1000)
    parser.add_argument("--sizes", type=int, default=100)
    arguments = parser.parse_args()
    generator = np.random.default_rng(1)
    curves = [made(generator, arguments.sizes) for _ in range(arguments.curves)]
    began = time.process_time()
    found = []
    for curve in curves:
        drawn = draws(curve)
        found.append((hockney(curve, drawn), found_pieces(curve, drawn)))
    seconds = time.process_time() - began
    bends = sum(len(pieces.bends) for _, pieces in found)
    print(
        f"{arguments.curves} curves of {arguments.sizes} sizes: {seconds:.1f} s, {bends} bends "
        f"(wanted: under {_WANTED_SECONDS:.0f} s)"
    )
    return int(seconds >= _WANTED_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
