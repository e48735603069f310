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
    """The rows that a plan asks for, as far as it says: transports, patterns and sizes of its
    `parts`; `plan` has all keys, and `has` are the rows that came of it."""

    parts: Collection[Plan]
    plan: Mapping[str, Any]
    base_plan: Mapping[str, Any]
    has: Collection[Configuration]

    @classmethod
    def of(cls, run: Run, base: Run) -> AskedRows:
        """Those of a run, to be looked for among those of a base; none of an imported one."""
        parts: Collection[Plan] = ()
        if not run.sources:
            left_out = ("against", "vary")
            keys = {k: value for k, value in run.header.plan.items() if k not in left_out}
            try:
                parts = make_plan(python_layer(keys)).part_plans
            except UsageError:
                # Anybody may have written the file: what its plan asks for is not known then.
                parts = ()
        return cls(parts, run.header.plan, base.header.plan, [*run.by_configuration])

    def have(self, configuration: Configuration) -> bool:
        """Whether the run was to have a row that the base has: its plan names the transport, the
        pattern and the size, and what else tells the row from others is as in the base's plan, or
        is in another row of that transport."""
        named = [
            part
            for part in self.parts
            if configuration.transport in part.transport
            and configuration.pattern in part.pattern
            and configuration.size in part.sizes
        ]
        if not named:
            return False
        alike = [each for each in self.has if each.transport == configuration.transport]
        if self._differs("part"):
            return False
        settings = all(
            not self._differs(name)
            or setting.of(configuration) in {setting.of(each) for each in alike}
            for name, setting in WITH_FIELDS.items()
        )
        if not settings:
            return False
        if not any(map(self._differs, _PAIRS)):
            return True
        return _who(configuration) in set(map(_who, self.has))

    def _differs(self, key: str) -> bool:
        return bool(self.plan.get(key) != self.base_plan.get(key))


def _who(configuration: Configuration) -> tuple[object, ...]:
    """What tells a row from others that is no setting, and no transport, pattern or size."""
    each = configuration
    return each.mode, each.pair, each.thread, each.concurrency, each.variant
