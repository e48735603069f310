"""Runs of planted levels, as comparisons take them."""

import numpy as np

from halftrip.analysis.compared_run import ComparedRun
from harness import runs


def launches(levels, *, size=8, slices=1, **fields):
    """The measurements of a configuration, whose launches take about so many ns one way."""
    generator = np.random.default_rng(size)
    return [
        runs.measurement(
            size=size,
            launch=launch,
            slice=number,
            samples=np.rint(generator.normal(20 * level, 0.2 * level, 60)),
            **fields,
        )
        for launch, level in enumerate(levels)
        for number in range(slices)
    ]


def side(*measured, name="a"):
    return ComparedRun.of(runs.run(*(each for one in measured for each in one)), name)
