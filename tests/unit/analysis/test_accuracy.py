"""The claims of benchmarks/truth.py, by whole runs over simulated paths with fixed seeds.

The 95 % interval (Clopper and Pearson) of the share that so many runs give has to reach into what
is promised."""

import pytest

from halftrip.analysis.flags import NAMES
from harness.files import module

truth = module("benchmarks/truth.py")

# The number of runs of each claim, by group. In the few runs of the quick version every flawed row
# has its flag, no sound row has one, and no figure is wrong; a difference in 2 of 4 pairs is
# refused, and coverage of fewer than about 13 of the 16 rows of two runs.
QUICK = {
    "coverage": 2,
    "difference": 2,
    "flaw": 2,
    "sound": 1,
    "same": 4,
    "recovery": 2,
    "history": 2,
}
THOROUGH = {
    "coverage": 25,
    "difference": 25,
    "flaw": 20,
    "sound": 20,
    "same": 80,
    "recovery": 10,
    "history": 40,
}

CLAIMS = [claim for group in QUICK for claim in truth.GROUPS[group]()]


def name(claim):
    return f"{claim.group}: {claim.what}, {claim.path}"


def score_of(claim, runs):
    return truth.total([claim.trial(seed) for seed in range(1, runs + 1)])


@pytest.mark.parametrize("claim", CLAIMS, ids=name)
def test_a_claim_in_a_few_runs(claim):
    score = score_of(claim, QUICK[claim.group])
    assert truth.kept(claim, score), f"{score}: {truth.interval(score)}"
    if claim.group not in ("coverage", "difference", "same", "history"):
        assert score.hits == (0 if claim.group == "sound" else score.of)


@pytest.mark.extended
@pytest.mark.parametrize("claim", CLAIMS, ids=name)
def test_a_claim_in_many_runs(claim):
    score = score_of(claim, THOROUGH[claim.group])
    assert truth.kept(claim, score), f"{score}: {truth.interval(score)}"


def test_every_flag_that_a_path_can_cause_is_checked():
    """The others are about where ranks ran, and about blocks that were not accepted."""
    checked = {flaw.name for flaw in truth.FLAWS}
    assert checked == set(NAMES) - {"unpinned", "oversubscribed", "other-state"}
