"""Groups whose ranks are threads of this process."""

from functools import partial

from halftrip.control.collectives import join_socket_group, lead_socket_group
from halftrip.control.listener import Listener
from harness.limits import AMPLE_SECONDS
from harness.threads import in_thread

TOKEN = "token"


def in_group(size, work, reach="unix", threads=1):
    """Calls `work(group)` on `size` ranks; what it returned, or raised, on each."""
    listener = Listener(TOKEN, (), reach, rank=0)
    results = [None] * size

    def member(rank):
        if rank == 0:
            group = lead_socket_group(listener, TOKEN, size, AMPLE_SECONDS, threads)
        else:
            group = join_socket_group(listener.address, TOKEN, rank, size, reach, threads)
        try:
            results[rank] = work(group)
        except BaseException as error:  # noqa: BLE001 (handed to the test)
            results[rank] = error
        finally:
            group.close()

    members = [in_thread(partial(member, rank)) for rank in range(size)]
    for finish in members:
        assert finish() is None
    return results


def on_ranks(size, take_part, threads=1):
    """Calls `take_part(rank, group)` on `size` ranks; what each returned. Raises what the first of
    them raised."""
    results = in_group(size, lambda group: take_part(group.rank, group), threads=threads)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def on_two_ranks(take_part, threads=1):
    return on_ranks(2, take_part, threads)
