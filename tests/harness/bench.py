"""A case that is measured by both its ranks in one process."""

import threading

from halftrip.clock import Clock
from halftrip.control.collectives import join_socket_group, lead_socket_group
from halftrip.control.protocol import Listener, introduce
from halftrip.measure.connection import Pair
from halftrip.measure.round import Bench
from halftrip.measure.sampler import Sampler, Stopping
from halftrip.memory.host import geometry
from halftrip.telemetry.kernel_files import Reader
from halftrip.telemetry.process import Meter
from halftrip.transports.base import Scene
from harness.relay import AMPLE_SECONDS

TOKEN = "token"
CACHE = 1 << 20


def scene(rank, same_host=True, timeout=AMPLE_SECONDS):
    return Scene(
        rank=rank, peer=1 - rank, same_host=same_host, yields=True, token=TOKEN, timeout=timeout
    )


def on_two_ranks(take_part):
    """Calls `take_part(rank, group)` on two ranks, which are threads."""
    listener = Listener(TOKEN)
    raised = []

    def member(rank):
        if rank == 0:
            group = lead_socket_group(listener, 2, 5.0)
        else:
            group = join_socket_group(listener.address, introduce(TOKEN, "group", 1), 2)
        try:
            take_part(rank, group)
        except BaseException as error:  # noqa: BLE001 (handed to the test)
            raised.append(error)
        finally:
            group.close()

    threads = [threading.Thread(target=member, args=(rank,)) for rank in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=AMPLE_SECONDS)
        assert not thread.is_alive()
    assert raised == []


def measure(the_case, spoil=None, timeout=AMPLE_SECONDS, clock_cost=20.0):
    """What rank 0 has learnt of a case. `spoil(rank, opened)` may do harm to an open path. Reading
    the clock is said to take `clock_cost` ns, by which it is decided how much a sample holds."""
    most = geometry(the_case, CACHE).slots // the_case.window if the_case.verify else None
    outcomes = []

    def take_part(rank, group):
        clock = Clock()
        pair = Pair(group, (0, 1), scene(rank, timeout=timeout), clock)
        bench = Bench(group, [(pair, the_case)], clock, CACHE, Meter(Reader(), whole=True))
        if spoil is not None:
            spoil(rank, pair.open(the_case.transport, the_case.wait))
        lossy = pair.transport(the_case.transport).lossy
        sampler = Sampler(Stopping(time=0.02), clock_cost, 1.0, single=lossy, most_exchanges=most)
        leader = sampler if rank == 0 else None
        outcome = bench.run(leader, lambda ns: None, lambda: [None])[0]
        bench.close()
        pair.close()
        if rank == 0:
            outcomes.append(outcome)

    on_two_ranks(take_part)
    return outcomes[0]
