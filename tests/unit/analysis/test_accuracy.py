"""The claims of benchmarks/truth.py, by a whole run over a simulated path with a fixed seed; that
many runs keep them is for truth.py to show."""

import pytest

from halftrip.analysis.flags import NAMES
from harness.choice import drawn
from harness.files import module

truth = module("benchmarks/truth.py")

# Of several rows in each run; of the others, each is right or wrong.
SHARES = ("coverage", "difference")
GROUPS = ("difference", "flaw", "sound", "same", "changes", "recovery", "history")
CLAIMS = [
    *drawn(truth.GROUPS["coverage"](), 8),
    *(claim for group in GROUPS for claim in truth.GROUPS[group]()),
]


@pytest.mark.parametrize(
    "claim", CLAIMS, ids=lambda claim: f"{claim.group}: {claim.what}, {claim.path}"
)
def test_a_claim_in_one_run(claim):
    """Of 8 rows, the intervals of 3 may be wrong by chance; every flawed row has its flag, no sound
    row has one, and no figure is wrong."""
    score = claim.trial(3)
    assert truth.kept(claim, score), f"{score}: {truth.interval(score)}"
    if claim.group not in SHARES:
        assert score.hits == (score.of if claim.least > 0 else 0)


def test_every_flag_that_a_path_can_cause_is_checked():
    """The others are about where ranks ran, and about blocks that were not accepted."""
    checked = {flaw.name for flaw in truth.FLAWS}
    assert checked == set(NAMES) - {"unpinned", "oversubscribed", "other-state"}
