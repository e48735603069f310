"""Steps that all ranks take together, so that each knows how the others fared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from halftrip.control.collectives import Group
from halftrip.control.protocol import Closed
from halftrip.errors import Unavailable


class StepResult(msgspec.Struct, frozen=True):
    """What a rank's part in a step gave, or why it failed."""

    value: Any = None
    problem: str | None = None


def agree(group: Group, step: Callable[[], Any]) -> list[Any]:
    """Takes a step on every rank and returns what it gave on each, in order of rank.

    Raises Unavailable on all of them, with the reason, if it raised Unavailable, Closed or OSError
    on any.
    """
    try:
        result = StepResult(value=step())
    except (Unavailable, Closed) as error:
        result = StepResult(problem=str(error))
    except OSError as error:
        result = StepResult(problem=error.strerror or str(error))
    results: list[StepResult] = group.allgather(result, StepResult)
    for other in results:
        if other.problem is not None:
            raise Unavailable(other.problem)
    return [other.value for other in results]
