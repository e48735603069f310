"""A cause: what makes a row one that cannot be trusted as it stands."""

from __future__ import annotations

from typing import Literal, NamedTuple

from halftrip.analysis.flags.flag import Finding, Flag, Rule

# When the verdict names a cause: `always`, however narrow the interval is; where that is wide, and
# the `slices` go with what was read beside each; where it is `wide` otherwise; of a row that others
# `contradict`; where the interval is wide and nothing else was found (`little` was measured); or
# `never`: it is a flag only.
When = Literal["always", "slices", "wide", "contradict", "little", "never"]

OTHERS = "see what else runs (halftrip doctor --load 5s)"
SETTINGS = "and what moves the clock rate (halftrip doctor)"
KEEP_STATE = "keep to one state with --placement-state near, or far"
KEEP_FREQUENCY = (
    "keep the clock rate constant: governor performance, no boost, and no more heat than the "
    "cooling carries off"
)


class Cause(NamedTuple):
    """A cause: what the verdict calls it, the flag that a row has of it (empty: none), when the
    verdict names it, its `evidence`, what excludes it (empty: nothing), a sentence as it says it,
    and what to do.

    `find` finds it in the evidence of a row; None where it takes several rows. Flags are left out
    where a row has one of those in `explained_by`.
    """

    name: str
    flag: str
    when: When
    evidence: str
    excluded: str
    says: str
    advice: str
    find: Rule | None = None
    explained_by: tuple[str, ...] = ()

    def named(self, found: Finding) -> Flag:
        """What was found, by the name of the cause."""
        return Flag(self.name, found.seen, found.advice or self.advice)

    def flagged(self, found: Finding) -> Flag:
        """What was found, by the name of the flag."""
        return self.named(found)._replace(name=self.flag)
