"""What halftrip promises of its figures and flags, by whole runs of paths of known truth.

The same claims as in benchmarks/truth.py, of fewer runs, with seeds that never change: what so many
runs give, with its 95 % interval (Clopper and Pearson), has to reach into what is promised. Nothing
else is given away; of 500 runs the benchmark tells more.
"""

import importlib.util
import sys
from pathlib import Path

import pytest

_FILE = Path(__file__).parent.parent.parent / "benchmarks" / "truth.py"
_SPEC = importlib.util.spec_from_file_location("benchmark_of_truth", _FILE)
truth = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = truth
_SPEC.loader.exec_module(truth)

# So many runs of each claim, by its group. What fails is a row covered in fewer than 43 of 50,
# a disease missed in 4 of 15, a flag on 3 of 24 healthy rows, a difference in 6 of 40 pairs,
# and a figure that is not found again in 3 of 10.
RUNS = {"coverage": 50, "disease": 15, "health": 3, "same": 40, "recovery": 10}

CLAIMS = [claim for claims in truth.GROUPS.values() for claim in claims()]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: f"{c.group}: {c.what}, {c.path}")
def test_the_promise_is_kept(claim):
    score = truth.total([claim.trial(seed) for seed in range(1, RUNS[claim.group] + 1)])
    assert truth.kept(claim, score), f"{score}: {truth.interval(score)}"


def test_every_flag_that_a_path_can_have_is_planted():
    """The others are of where ranks ran, and of batches that a session did not accept: no path says
    these, and a rehearsal has neither."""
    from halftrip.analysis.flags import NAMES

    planted = {disease.name for disease in truth.DISEASES}
    assert planted == set(NAMES) - {"unpinned", "oversubscribed", "other-state"}
