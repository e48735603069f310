"""Steps that all ranks take together: every rank learns whether it succeeded on all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from halftrip.control.collectives import Group
from halftrip.control.protocol import Closed
from halftrip.errors import Unavailable, system_reason


class StepResult(msgspec.Struct, frozen=True):
    """The result of a rank's part in a step, or the reason why it failed."""

    value: Any = None
    problem: str | None = None


def agree(group: Group, step: Callable[[], Any]) -> list[Any]:
    """Calls `step` on every rank, and returns its results on all of them, in order of rank.

    If it raises Unavailable, Closed or OSError on any rank, all ranks raise Unavailable with that
    reason.
    """
    try:
        result = StepResult(value=step())
    except (Unavailable, Closed) as error:
        result = StepResult(problem=str(error))
    except OSError as error:
        result = StepResult(problem=system_reason(error))
    results: list[StepResult] = group.allgather(result, StepResult)
    for other in results:
        if other.problem is not None:
            raise Unavailable(other.problem)
    return [other.value for other in results]
