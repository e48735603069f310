"""A cause: what makes a row one that cannot be trusted as it stands."""

from __future__ import annotations

from typing import Literal, NamedTuple

from halftrip.analysis.flags.flag import Finding, Flag, Rule

# When the verdict names a cause: `always`, however narrow the interval is; where it is `wide`; of a
# row that others `contradict`; where the interval is wide and nothing else was found (`little`
# was measured); or `never`: it is a flag only.
When = Literal["always", "wide", "contradict", "little", "never"]


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

    def flagged(self, found: Finding, name: str = "") -> Flag:
        """What was found, by the name of its flag, or by this one."""
        return Flag(name or self.flag, found.seen, found.advice or self.advice)
