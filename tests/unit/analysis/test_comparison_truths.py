"""What is said of pairs of runs whose change is known; benchmarks/truth.py has larger counts."""

import random

import numpy as np
import pytest

from halftrip.analysis.comparison import Side, compare
from harness import runs

PAIRS = 120
SIZES = (8, 64, 1024, 4096)


def made(generator, levels):
    """A run with a launch at each level, ns one way, of rows that wander by 0.3 % of themselves."""
    measured = [
        runs.measurement(
            size=size,
            launch=launch,
            samples=np.rint(20 * level * np.exp(generator.normal(wander, 0.02, 30))),
        )
        for launch, level in enumerate(levels)
        for size, wander in zip(SIZES, generator.normal(0, 0.003, len(SIZES)), strict=True)
    ]
    return runs.run(*measured)


def levels_of(generator, factor, spread, launches=5):
    return 1000 * factor * np.exp(generator.normal(0, spread, launches))


def compared(seed, factor=1.0, spread=0.013, **options):
    generator = np.random.default_rng(seed)
    base, new = (
        Side.of(made(generator, levels_of(generator, each, spread)), name)
        for name, each in (("base", 1.0), ("new", factor))
    )
    (found,) = compare(base, [new], **options)
    return found


def is_changed(found):
    return bool(found.having("slower") or found.having("faster"))


@pytest.mark.parametrize("spread", [0.013, 0.03])
def test_of_the_same_nothing_is_said_to_have_changed(spread):
    alarms = sum(is_changed(compared(seed, spread=spread)) for seed in range(PAIRS))
    assert alarms <= 0.05 * PAIRS


def test_what_is_5_percent_slower_is_found():
    found = [compared(seed, factor=1.05) for seed in range(PAIRS)]
    assert sum(bool(each.having("slower")) for each in found) >= 0.95 * PAIRS
    assert not any(each.having("faster") for each in found)


def test_what_is_2_percent_slower_is_not_called_5():
    found = [compared(seed, factor=1.02, threshold=0.05) for seed in range(PAIRS)]
    # Chance makes 2 % look like 5 % in about one of 1,200 pairs.
    assert sum(is_changed(each) for each in found) <= 1


def test_levels_that_switch_between_launches_are_no_change():
    called = 0
    for seed in range(PAIRS):
        generator, coin = np.random.default_rng(seed), random.Random(seed)
        sides = [
            Side.of(made(generator, [coin.choice((1000, 4000)) for _ in range(5)]), name)
            for name in ("base", "new")
        ]
        (found,) = compare(sides[0], sides[1:])
        called += is_changed(found)
    # Of 512 pairs, one has each run at a level of its own by chance.
    assert called <= 1
