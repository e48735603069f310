"""Curves of time over size whose truth is known."""

import numpy as np

from halftrip.analysis.curves import curve_times
from halftrip.analysis.repeats import Repeats
from halftrip.stats.interval import SliceMedian
from harness import runs

# A size per power of two.
GRID = tuple(1 << n for n in range(23))


def bent(size, segments, start=1000.0, per_byte=0.1):
    """The true time, ns: `segments` are (first size, start, per_byte) of further pieces."""
    for first, later_start, later_per_byte in segments:
        if size >= first:
            start, per_byte = later_start, later_per_byte
    return start + per_byte * size


def curve(segments=(), sizes=GRID, seed=0, noise=0.01, repeats=10, launch=0.0, step=0.0, **line):
    """The times of a bent line, each the median of so many slices with relative noise; with
    `launch`, of launches that differ by that, too."""
    generator = np.random.default_rng(seed)
    common = np.exp(generator.normal(0, launch, repeats)) if launch else np.ones(repeats)
    found = {}
    for size in sizes:
        true = bent(size, segments, **line)
        times = true * common * np.exp(generator.normal(0, noise, repeats))
        if step:
            times = np.maximum(np.rint(times / step), 1) * step
        found[size] = Repeats(
            list(range(repeats)) if launch else [0],
            [SliceMedian(time, step=step) for time in times.tolist()],
            [np.nan] * repeats,
            1.0,
        )
    return curve_times(found)


def run_of(segments=(), sizes=GRID, seed=0, noise=0.01, slices=8, launches=1, **options):
    """A run with such a curve over shm; `options` are those of `bent`, or fields of the
    configuration."""
    generator = np.random.default_rng(seed)
    line = {name: options.pop(name) for name in ("start", "per_byte") if name in options}
    return runs.run(
        *(
            runs.measurement(
                size=size,
                slice=number,
                launch=launch,
                iterations=1,
                samples=np.rint(
                    2
                    * bent(size, segments, **line)
                    * np.exp(generator.normal(generator.normal(0, noise / 2), noise, 40))
                ),
                **options,
            )
            for launch in range(launches)
            for number in range(slices)
            for size in sizes
        )
    )
