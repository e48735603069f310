"""What a comparison answers first, and what it leaves out of its table."""

import math

import numpy as np
import pytest

from halftrip.analysis.compared_run import ComparedRun
from halftrip.analysis.comparison import compare
from halftrip.views.compare import answer, left_out, shown_rows
from harness import runs

TWO_LEVELS = [100, 400, 100, 101, 99], [400, 401, 100, 399, 400]
WIDE = [100, 110, 92, 104, 97], [97, 104, 92, 110, 100]
SAME = [100, 100.1, 99.9, 100.05, 99.95], [100, 100.1, 99.9, 100.05, 99.95]


def compared(*rows):
    """The comparison of two runs with the levels of their launches, ns, a pair for each size."""
    sides = (
        runs.run(
            *(
                launch
                for n, levels in enumerate(rows)
                for launch in runs.slices("shm", 8 << n, levels=levels[side], each="launch")
            )
        )
        for side in (0, 1)
    )
    base, new = (ComparedRun.of(run, name) for run, name in zip(sides, "ab", strict=True))
    (found,) = compare(base, [new])
    return found


@pytest.mark.parametrize(("hopeless", "said"), [(1, "the other"), (3, "the others")])
def test_launches_are_promised_of_those_rows_that_they_help(hopeless, said):
    found = compared(WIDE, *[TWO_LEVELS] * hopeless)
    (needed,) = {row.launches for row in found.rows} - {None}
    rows = f"1 of the {1 + hopeless} that cannot be told"
    assert (
        f"To find a change of 2 % in {rows} takes about {needed} launches of each run: "
        f"--launches {needed}; of {said} no number of launches tells."
    ) in answer(found)
    assert not any("launches of each run" in line for line in answer(compared(TWO_LEVELS)))
    assert any("in those that cannot be told takes" in line for line in answer(compared(WIDE)))


def test_rows_are_in_the_order_of_the_ratio_that_is_shown():
    levels = np.random.default_rng(1).uniform(70, 130, (12, 2, 5))
    shown = [abs(math.log(row.ratio)) for row in compared(*levels).having("cannot tell")]
    assert shown == sorted(shown, reverse=True)


@pytest.mark.parametrize(
    ("same", "said"),
    [(0, "2 rows more cannot be told: --all"), (3, "of 5 rows more, 3 are the same and 2 cannot")],
)
def test_rows_that_are_not_shown_are_counted_by_what_they_are(same, said):
    found = compared(*[WIDE] * 12, *[SAME] * same)
    assert left_out(found, shown_rows(found))[0].startswith(said)
    assert left_out(compared(*[SAME] * 2), []) == ["2 rows more are the same: --all"]
