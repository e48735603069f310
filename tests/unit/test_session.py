"""A whole session, with threads for ranks: what it measures, and how it leaves its caller."""

import gc
import os
import threading

import pytest

from halftrip.control.collectives import join_socket_group, lead_socket_group
from halftrip.control.protocol import Listener, introduce
from halftrip.measure.runner import Session
from halftrip.plan.plan import make_plan, python_layer
from halftrip.results.records import End, Environment, Measurement

TOKEN = "a token"


class ListSink:
    def __init__(self):
        self.records = []

    def record(self, record):
        self.records.append(record)

    def progress(self, done, total, what):
        pass

    def those(self, kind):
        return [record for record in self.records if isinstance(record, kind)]


def walk(cores, **keys):
    """Two ranks walk through a small plan; rank 0's sink, and the cores that each thread may use
    after it."""
    keys = {"transport": "pipe", "sizes": "8,64", "time": "5ms"} | keys
    plan = make_plan(python_layer(keys if cores is None else keys | {"cores": cores}))
    listener = Listener(TOKEN)
    sink = ListSink()
    after = {}

    def rank_main(rank):
        if rank == 0:
            group = lead_socket_group(listener, 2, timeout=10)
        else:
            group = join_socket_group(listener.address, introduce(TOKEN, "group", rank), 2)
        Session(plan, group, TOKEN, sink).run()
        after[rank] = os.sched_getaffinity(0)
        group.close()

    threads = [threading.Thread(target=rank_main, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive()
    return sink, after


@pytest.mark.parametrize("cores", [None, "none"])
def test_the_caller_gets_back_its_cores_and_its_collector(cores):
    before = os.sched_getaffinity(0)
    frozen = gc.get_freeze_count()
    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            sink, after = walk(cores)
            assert gc.isenabled() == enabled
        finally:
            gc.enable()
        assert after == {0: before, 1: before}
        assert gc.get_freeze_count() == frozen
        assert len(sink.those(Measurement)) == 2
        assert isinstance(sink.records[-1], End)


def test_ranks_that_are_left_to_the_scheduler_say_so():
    sink, _ = walk("none")
    assert [environment.core for environment in sink.those(Environment)] == [None, None]
    pinned, _ = walk(None)
    assert all(environment.core is not None for environment in pinned.those(Environment))
