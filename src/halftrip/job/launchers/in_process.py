"""A run of a simulated path within this process: nobody is launched, and no time passes.

It is what tests of the statistics and the verdict are made of: thousands of runs, each with samples
that a sampler has asked for, as in a real one.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from halftrip import __version__
from halftrip.measure.round import Outcome, Times
from halftrip.measure.sampler import Batch, Sampler, Stopping
from halftrip.measure.side import Part
from halftrip.plan.plan import Plan, plan_record
from halftrip.results.case import Case
from halftrip.results.records import End, Head, LineBound, Measurement
from halftrip.results.run import Run
from halftrip.results.run_file import FORMAT, utc_now
from halftrip.simulation.path_model import Truth
from halftrip.transports.base import Scene
from halftrip.transports.simulated import SimulatedTransport


def rehearse(truth: Truth, cases: Sequence[Case], plan: Plan) -> Run:
    """The run of `cases`, all of the transport ``simulated``, in this order, over a path of which
    `truth` is so; of `plan` it takes when to stop, how often, and the timeout."""
    measurements = []
    for launch in range(plan.launches):
        scene = Scene(
            rank=0, peer=1, same_host=True, yields=False, token="",
            timeout=plan.timeout, simulated=truth, launch=launch,
        )  # fmt: skip
        transport = SimulatedTransport(scene)
        for repetition in range(plan.repetitions):
            for case in cases:
                measurement = _measure(transport, case, plan)
                measurements.append(
                    msgspec.structs.replace(measurement, launch=launch, repetition=repetition)
                )
    return Run(
        head=Head(
            format=FORMAT,
            halftrip=__version__,
            started=utc_now(),
            command=[],
            plan=plan_record(plan),
        ),
        measurements=tuple(measurements),
        end=End(reason=None),
    )


def _measure(transport: SimulatedTransport, case: Case, plan: Plan) -> Measurement:
    cost, resolution = transport.clock_figures
    sampler = Sampler(
        Stopping(ci=plan.ci, time=plan.time, iterations=plan.iterations),
        cost,
        resolution,
        single=transport.lossy,
    )
    transport.begin_case()
    outcome = Outcome(case)
    before = transport.line()
    while (batch := sampler.next()) is not None:
        sampler.feed(*_time(transport, case, batch, outcome))
    if sampler.stopped is None:
        raise RuntimeError("a sampler that has ended says why")
    return Measurement(
        case=case,
        repetition=0,
        at=0.0,
        first=outcome.first,
        warm_up=sampler.warm_up,
        exchanges=sampler.exchanges,
        stopped=sampler.stopped,
        line=LineBound(before, outcome.lines[-1]),
        samples=outcome.samples.tolist(),
        blocks=outcome.blocks,
        lines=outcome.lines,
        delivery=outcome.delivery,
    )


def _time(
    transport: SimulatedTransport, case: Case, batch: Batch, outcome: Outcome
) -> tuple[Times, int]:
    timed = transport.time(case, batch.lead, batch.exchanges, batch.samples)
    part = Part(
        times=timed.times.tobytes(),
        start=timed.start,
        waited=timed.waited,
        delivery=timed.delivery,
    )
    times = outcome.feed(batch, part, Part())
    if batch.keep:
        outcome.lines.append(transport.line())
    return times, timed.waited
