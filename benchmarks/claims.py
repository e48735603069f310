"""What the benchmarks of known truths promise, and the simulated runs that they look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from halftrip.job.launchers.in_process import simulate
from halftrip.plan.plan import Plan
from halftrip.results.configuration import Configuration, EndSettings
from halftrip.results.run import Run
from halftrip.simulation.path_model import PathModel


class Score(NamedTuple):
    """`hits` of `of` trials."""

    hits: int
    of: int


class Claim(NamedTuple):
    """A promise: `what` is found on `path` in a share of `least` to `most` of all trials.
    `trial` makes one run with a seed."""

    group: str
    what: str
    path: str
    trial: Callable[[int], Score]
    least: float
    most: float


def simulated(size: int, **fields: Any) -> Configuration:
    """A configuration of the simulated path."""
    end = EndSettings(wait="spin")
    return Configuration(transport="simulated", size=size, initiator=end, responder=end, **fields)


def measure(
    model: PathModel, seed: int, sizes: Sequence[int] = (8,), plan: Plan | None = None
) -> Run:
    """A run of these sizes over the path `model`, with the random numbers of `seed`."""
    configurations = [simulated(size) for size in sizes]
    return simulate(msgspec.structs.replace(model, seed=seed), configurations, plan or Plan())
