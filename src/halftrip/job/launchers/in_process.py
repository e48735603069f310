"""Measures a simulated path within this process: nothing is started, and no real time passes.

For tests and benchmarks of statistics and flags, which take thousands of runs. As in a real run, a
sampler decides what is measured.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from halftrip import __version__
from halftrip.measure.round import RoundBlock
from halftrip.measure.sampler import Sampled, Sampler, Stopping
from halftrip.plan.plan import Plan, plan_record
from halftrip.registry import SIMULATED
from halftrip.results.block import Block, RoundTrips
from halftrip.results.case import Case
from halftrip.results.records import Header, Measurement, RunEnd
from halftrip.results.run import Run
from halftrip.results.run_file import FORMAT, utc_now
from halftrip.simulation.path_model import PathModel
from halftrip.transports.base import PairContext, ProcessContext
from halftrip.transports.simulated import SimulatedTransport, VirtualPath

_PAIR = PairContext(peer=1, initiates=True, same_host=True, shares_core=False)


def simulate(model: PathModel, cases: Sequence[Case], plan: Plan) -> Run:
    """The run of `cases`, which have the transport ``simulated``, in this order, over the path that
    `model` describes. `plan` has the limits of a case, the launches and slices, and the
    timeout."""
    measurements = []
    for launch in range(plan.launches):
        process = ProcessContext(
            rank=0, token="", timeout=plan.timeout, path_model=model, launch=launch
        )
        transport = SimulatedTransport(process)
        path = transport.path(_PAIR, "spin")
        for number in range(plan.slices):
            for case in cases:
                measurement = _measure(transport, path, case, plan)
                measurements.append(
                    msgspec.structs.replace(measurement, launch=launch, slice=number)
                )
    return Run(
        header=Header(
            format=FORMAT,
            halftrip=__version__,
            started=utc_now(),
            command=[],
            plan=plan_record(plan),
        ),
        measurements=tuple(measurements),
        end=RunEnd(reason=None),
    )


def _measure(
    transport: SimulatedTransport, path: VirtualPath, case: Case, plan: Plan
) -> Measurement:
    if case.transport != SIMULATED:
        raise ValueError(f"{case.transport} takes real time")
    cost, resolution = transport.clock_figures
    sampler = Sampler(
        Stopping(ci=plan.ci, time=plan.time, iterations=plan.iterations),
        cost,
        resolution,
        single=transport.capabilities.lossy,
    )
    endpoint = path.endpoint(case)
    kept: list[RoundBlock] = []
    rtt = path.cache_line_rtt()
    while (batch := sampler.next()) is not None:
        timed = endpoint.run(batch.warm_up, batch.exchanges, batch.samples)
        if not batch.keep:
            sampler.feed(Sampled(timed.times, timed.timed_out))
            continue
        before, rtt = rtt, path.cache_line_rtt()
        block = Block(
            start=timed.start,
            times=timed.times,
            cache_line_rtt=RoundTrips(before, rtt),
            timed_out=timed.timed_out,
            delivery=timed.delivery,
        )
        kept.append(RoundBlock([block]))
        sampler.keep(kept[-1].sampled, [each.sampled for each in kept], [])
    if sampler.stopped is None:
        raise RuntimeError("the sampler ended without a reason")
    return Measurement(
        case=case,
        slice=0,
        at=0.0,
        first=sampler.first,
        warm_up=sampler.warm_up,
        exchanges=sampler.exchanges,
        stopped=sampler.stopped,
        blocks=[each.blocks[0] for each in kept],
    )
