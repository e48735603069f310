"""Measures a simulated path within this process: nothing is started, and no real time passes.

For tests and benchmarks of statistics and flags, which take thousands of runs. As in a real run, a
sampler decides what is measured.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from halftrip import __version__
from halftrip.measure.batch import Sampled, stopping
from halftrip.measure.progress import ConfigurationProgress
from halftrip.measure.sampler import Sampler
from halftrip.measure.slice_run import ConfigurationState
from halftrip.measure.walk import SliceTurn, Walk
from halftrip.plan.configurations import PartPlans
from halftrip.plan.plan import Plan, plan_record
from halftrip.registry import SIMULATED
from halftrip.results.block import Block, RoundTrips
from halftrip.results.configuration import Configuration
from halftrip.results.reading import FORMAT
from halftrip.results.records import Header, Measurement, RunEnd
from halftrip.results.run import Run
from halftrip.results.run_file import utc_now
from halftrip.simulation.path_model import PathModel
from halftrip.transports.base import PairContext, PathSettings, ProcessContext
from halftrip.transports.simulated import SimulatedTransport

_PAIR = PairContext(peer=1, initiates=True, same_host=True, shares_core=False)


def simulate(model: PathModel, configurations: Sequence[Configuration], plan: Plan) -> Run:
    """The run of `configurations`, which have the transport ``simulated``, over the path that
    `model` describes. As in a real run, the slices of all configurations are dealt over the launch;
    `plan` has their number, the limits of a configuration, the launches, and the timeout."""
    measurements: list[Measurement] = []
    for launch in range(plan.launches):
        process = ProcessContext(
            rank=0, token="", timeout=plan.timeout, path_model=model, launch=launch
        )
        measurements += _Launch(SimulatedTransport(process), plan, configurations).measure(launch)
    return Run(
        header=Header(
            version=FORMAT,
            halftrip=__version__,
            started=utc_now(),
            command=[],
            plan=plan_record(plan),
        ),
        measurements=tuple(measurements),
        end=RunEnd(reason=None),
    )


class _Launch:
    """One launch of `configurations`. The order of slices depends on the seed of the model
    alone."""

    def __init__(
        self, transport: SimulatedTransport, plan: Plan, configurations: Sequence[Configuration]
    ) -> None:
        for configuration in configurations:
            if configuration.transport != SIMULATED:
                raise ValueError(f"{configuration.transport} takes real time")
        self._plans = PartPlans(plan, {SIMULATED: transport.capabilities.choices})
        self._path = transport.path(_PAIR, PathSettings("spin"))
        cost, resolution = transport.clock_figures
        self._walk = Walk(
            self._plans,
            [(0, configuration) for configuration in configurations],
            random.Random(transport.model.seed),  # noqa: S311 (not a secret)
        )
        self._endpoints = {
            configuration: self._path.endpoint(configuration) for configuration in configurations
        }
        single = transport.capabilities.lossy
        self._started = {
            configuration: ConfigurationState(
                Sampler(stopping(self._plans.of(configuration)), cost, resolution, single=single),
                ConfigurationProgress(),
            )
            for configuration in configurations
        }

    def measure(self, launch: int) -> list[Measurement]:
        measurements = []
        for turn in self._walk.turns():
            sampler, progress = self._started[turn.setting]
            sampler.begin(turn.iterations, progress.spread, turn.least)
            measurement = self._slice(turn, sampler, launch)
            measurements.append(measurement)
            progress.add(measurement)
            if progress.is_enough(self._plans.of(turn.setting)):
                self._walk.close(spares=True)
        return measurements

    def _slice(self, turn: SliceTurn, sampler: Sampler, launch: int) -> Measurement:
        configuration = turn.setting
        began = self._path.now
        blocks: list[Block] = []
        rtt = self._path.core_to_core_rtt()
        while (batch := sampler.next()) is not None:
            timed = self._endpoints[configuration].run(
                batch.untimed, batch.iterations, batch.samples
            )
            sampled = Sampled(timed.times, timed.timed_out)
            before, rtt = rtt, self._path.core_to_core_rtt()
            if not batch.keep:
                sampler.feed(sampled)
            if not batch.keep or sampler.warms_up(sampled):
                continue
            blocks.append(
                Block(
                    start=timed.start,
                    times=timed.times,
                    core_to_core_rtt=RoundTrips(before, rtt),
                    timed_out=timed.timed_out,
                    delivery=timed.delivery,
                )
            )
            kept = [Sampled(block.times, block.timed_out) for block in blocks]
            sampler.keep(kept[-1], kept, [])
        if sampler.stopped is None:
            raise RuntimeError("the sampler ended without a reason")
        return Measurement(
            configuration=configuration,
            slice=turn.number,
            launch=launch,
            at=began,
            first=sampler.first,
            warm_up=sampler.warm_up,
            iterations=sampler.iterations,
            stopped=sampler.stopped,
            blocks=blocks,
        )
