"""Which rows of an earlier run a new one was to have, by its plan."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from halftrip.errors import UsageError
from halftrip.plan.layers import make_plan, python_layer
from halftrip.plan.plan import Plan
from halftrip.plan.settings import WITH_FIELDS
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run

# Keys that say which pairs there are, and what else tells rows apart that is no setting.
_PAIRS = ("pairs", "ranks", "hosts", "peer", "threads", "concurrent_pairs", "vary", "mode")


@dataclass(frozen=True)
class AskedRows:
    """The rows that the plan of a run asks for, as far as it says: transports, patterns and sizes
    of its `parts`; `plan` has all keys, and `has` are the rows that came of it."""

    parts: Collection[Plan]
    plan: Mapping[str, Any]
    has: Collection[Configuration]

    @classmethod
    def of(cls, run: Run) -> AskedRows:
        """Those of a run; none of an imported one."""
        parts: Collection[Plan] = ()
        if not run.sources:
            left_out = ("against", "vary")
            keys = {k: value for k, value in run.header.plan.items() if k not in left_out}
            try:
                parts = make_plan(python_layer(keys)).part_plans
            except UsageError:
                # Anybody may have written the file: what its plan asks for is not known then.
                parts = ()
        return cls(parts, run.header.plan, [*run.by_configuration])

    def names(self, configuration: Configuration) -> bool:
        """Whether the plan names its transport, its pattern and its size."""
        each = configuration
        return any(
            each.transport in part.transport
            and each.pattern in part.pattern
            and each.size in part.sizes
            for part in self.parts
        )

    def have(self, configuration: Configuration, base: Run) -> bool:
        """Whether the run was to have a row of the base: the plan names it, and what else tells it
        from others is as in the plan of the base, or is in another row of its transport."""
        if not self.names(configuration) or self._differs("part", base):
            return False
        alike = [each for each in self.has if each.transport == configuration.transport]
        for name, setting in WITH_FIELDS.items():
            of = setting.of
            if self._differs(name, base) and of(configuration) not in map(of, alike):
                return False
        is_same = not any(self._differs(key, base) for key in _PAIRS)
        return is_same or _who(configuration) in map(_who, self.has)

    def _differs(self, key: str, base: Run) -> bool:
        return bool(self.plan.get(key) != base.header.plan.get(key))


def _who(configuration: Configuration) -> tuple[object, ...]:
    """What tells a row from others that is no setting, and no transport, pattern or size."""
    each = configuration
    return each.mode, each.pair, each.thread, each.concurrency, each.variant
