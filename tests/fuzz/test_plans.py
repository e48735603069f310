"""Plans and command lines that nobody would write."""

from fuzz import plans

INPUTS = 20000
SECONDS = 20.0


def test_each_is_a_plan_within_the_limits_or_one_line():
    assert plans.run(INPUTS, seed=0, seconds=SECONDS) > 0
