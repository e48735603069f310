"""A case that is measured by both its ranks in one process."""

from functools import cache

from halftrip.clock import Clock
from halftrip.kernel_files import Reader
from halftrip.measure.connection import Connection
from halftrip.measure.placement_filter import PlacementFilter
from halftrip.measure.round import Round
from halftrip.measure.sampler import Sampler, Stopping
from halftrip.measure.setup import Setup
from halftrip.plan.plan import Plan
from halftrip.registry import TRANSPORTS
from halftrip.telemetry.process import Meter
from halftrip.transports.base import PairContext, ProcessContext
from harness.groups import TOKEN, on_two_ranks
from harness.limits import AMPLE_SECONDS

CACHE = 1 << 20
BRIEFLY = Stopping(time=0.02)


@cache
def clock():
    """The clock of all ranks; opening one takes 50 ms."""
    return Clock()


def process(rank=0, timeout=AMPLE_SECONDS, **fields):
    return ProcessContext(rank=rank, token=TOKEN, timeout=timeout, **fields)


def pair(rank=0, same_host=True, **fields):
    """What a rank of two knows of the other."""
    return PairContext(
        peer=1 - rank, initiates=rank == 0, same_host=same_host, shares_core=True, **fields
    )


def set_up(group, transport, timeout=AMPLE_SECONDS, plan=None):
    """The set-up of a rank whose process keeps its cores: connected, with one transport."""
    connection = Connection(group, (0, 1), pair(group.rank), clock())
    return Setup(
        plan=plan or Plan(),
        group=group,
        clock=clock(),
        meter=Meter(Reader(), whole=True),
        hosts=["host", "host"],
        environments=[],
        cache_bytes=CACHE,
        transports={transport: TRANSPORTS.load(transport)(process(group.rank, timeout))},
        connections={((0, 1), 0): connection},
        missing={transport: {}},
    )


def measure(the_case, spoil=None, timeout=AMPLE_SECONDS, clock_cost=20.0, stopping=BRIEFLY):
    """The round of a case, as rank 0 has it after it has run, and in `elapsed` what it gave of each
    batch. `spoil(rank, path)` may do harm to an open path. Reading the clock is said to take
    `clock_cost` ns, which decides how much a sample holds."""

    def take_part(rank, group):
        setup = set_up(group, the_case.transport, timeout)
        transport = setup.transport(the_case)
        path = setup.connection(the_case).path(transport, the_case)
        round_ = Round(setup, [the_case], PlacementFilter(None, setup))
        if spoil is not None:
            spoil(rank, path)
        sampler = Sampler(
            stopping,
            clock_cost,
            1.0,
            single=transport.capabilities.lossy,
            most_exchanges=setup.most_exchanges(the_case),
        )
        round_.elapsed = list(round_.run(sampler if rank == 0 else None))
        round_.close()
        setup.close()
        return round_

    return on_two_ranks(take_part)[0]
