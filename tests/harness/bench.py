"""A configuration that is measured by both its ranks in one process."""

import time
from functools import cache
from typing import NamedTuple

from halftrip.clock import Clock
from halftrip.kernel_files import Reader
from halftrip.measure.batch import Stopping
from halftrip.measure.pair import PairEnd
from halftrip.measure.sampler import Sampler
from halftrip.measure.setup import Setup
from halftrip.measure.slices import InitiatorSlice, finish, serve
from halftrip.plan.pairing import Schedules
from halftrip.plan.plan import Plan
from halftrip.registry import TRANSPORTS
from halftrip.results.records import Measurement
from halftrip.telemetry.process import Meter
from halftrip.telemetry.topology import Place
from halftrip.transports.base import PairContext, ProcessContext
from harness.groups import TOKEN, on_two_ranks
from harness.limits import AMPLE_SECONDS

CACHE = 1 << 20
# Room for the buffers of all configurations.
AMPLE_BYTES = 1 << 30
BRIEFLY = Stopping(time=0.02)


@cache
def clock():
    """The clock of all ranks; opening one takes 50 ms."""
    return Clock()


def process(rank=0, timeout=AMPLE_SECONDS, **fields):
    return ProcessContext(rank=rank, token=TOKEN, timeout=timeout, **fields)


def pair(rank=0, same_host=True, **fields):
    """What a rank of two knows of the other."""
    fields = {"shares_core": True} | fields
    return PairContext(peer=1 - rank, initiates=rank == 0, same_host=same_host, **fields)


def set_up(group, transports, timeout=AMPLE_SECONDS, plan=None):
    """The set-up of a rank whose process keeps its cores. `transports` are names, or the
    transports of this rank by name."""
    if not isinstance(transports, dict):
        own = process(group.rank, timeout)
        transports = {name: TRANSPORTS.load(name)(own) for name in transports}
    plan = plan or Plan()
    return Setup(
        plan=plan,
        group=group,
        clock=clock(),
        meter=Meter(Reader(), whole=True),
        hosts=["host"] * group.size,
        places=[[Place(None, True)] * plan.threads] * group.size,
        environments=[],
        cache_bytes=CACHE,
        kept_bytes=AMPLE_BYTES,
        schedule=Schedules(group.size, plan.pairs, plan.limits),
        transports=transports,
    )


class Measured(NamedTuple):
    """What the initiator has of a configuration: the result of each slice, and what went wrong in
    the last one; `timed_ns` is the time of all batches of each."""

    slices: list[Measurement | None]
    problem: str | None
    timed_ns: list[int]

    @property
    def only(self):
        """The result of the only slice; there was no problem."""
        assert self.problem is None
        (measurement,) = self.slices
        return measurement


def measure(
    the_configuration,
    spoil=None,
    timeout=AMPLE_SECONDS,
    clock_cost=20.0,
    stopping=BRIEFLY,
    iterations=None,
    slices=1,
):
    """The slices of a configuration. `spoil(rank, path)` may do harm to an open path. Reading the
    clock is said to take `clock_cost` ns, which decides how much a sample holds."""

    def take_part(rank, group):
        setup = set_up(group, [the_configuration.transport], timeout)
        own = PairEnd(setup, setup.context((0, 1), 0), AMPLE_BYTES)
        began = time.monotonic()
        sampler = Sampler(
            stopping,
            clock_cost,
            1.0,
            single=setup.transport(the_configuration).capabilities.lossy,
            most_iterations=setup.most_iterations(the_configuration),
        )
        found, timed, problem = [], [], None
        for number in range(slices):
            side = own.batch_runner(the_configuration)
            if number == 0 and spoil is not None:
                side.begin_slice()
                spoil(rank, own.path(the_configuration))
            if rank == 1:
                side.begin_slice()
                serve(own, side)
                finish(own, side)
                continue
            slice_ = InitiatorSlice(own, side, sampler, None)
            slice_.warm_up(iterations)
            slice_.sample(None)
            cores = slice_.end()
            found.append(slice_.measurement(number, 0, began, cores))
            timed.append(slice_.timed_ns)
            problem = slice_.ended and slice_.ended.problem.reason
        own.close()
        return Measured(found, problem, timed)

    return on_two_ranks(take_part)[0]
