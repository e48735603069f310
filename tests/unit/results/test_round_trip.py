"""Records of the present format are read as they were written, arrays included."""

import gc
import tracemalloc

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from halftrip.plan.plan import Plan, plan_record
from halftrip.results.block import Block, RoundTrips
from halftrip.results.configuration import Configuration, EndSettings
from halftrip.results.delivery import Delivery
from halftrip.results.records import (
    Header,
    Measurement,
    WarmUp,
)
from halftrip.results.run_file import FORMAT, decode, encode, load
from halftrip.results.usage import BusiestTask, CoreUse, Usage
from harness import runs

names = st.text(st.characters(codec="utf-8"), max_size=10)
numbers = st.floats(0, 1e12)
maybe = st.none() | numbers
counts = st.integers(0, 1 << 40)
positive = st.floats(1e-9, 1e12)
times = nps.arrays(np.int64, st.integers(0, 8), elements=st.integers(0, 1 << 53))
ranks = st.integers(0, 9)
cores = st.builds(
    CoreUse,
    number=st.integers(0, 99),
    watched=numbers,
    others=maybe,
    steal=maybe,
    hertz=maybe,
    joules=maybe,
    busiest_task=st.none() | st.builds(BusiestTask, name=names, share=numbers),
)
usages = st.builds(
    Usage,
    **dict.fromkeys(
        ("iterations", "voluntary", "involuntary", "minor_faults", "major_faults", "peak_memory"),
        counts,
    ),
    **dict.fromkeys(("elapsed", "user", "system"), numbers),
    waited=maybe,
)
deliveries = st.builds(Delivery, sent=counts, lost=counts, reordered=counts, jitter=maybe).filter(
    lambda delivery: delivery.lost <= delivery.sent
)
plain_blocks = st.builds(
    Block,
    times=times,
    start=st.none() | st.integers(0, 1 << 60),
    peer_times=times,
    receive_times=times,
    peer_receive_times=times,
    core_to_core_rtt=st.none() | st.builds(RoundTrips, numbers, numbers),
    timed_out=counts,
    delivery=st.none() | deliveries,
    usage=st.none() | st.tuples(usages, usages),
)
moments = st.integers(-(1 << 60), 1 << 60)
# As many arrivals as times.
blocks = plain_blocks | st.builds(
    lambda block, start, end, peer_start: msgspec.structs.replace(
        block, start=start, end=end, peer_start=peer_start, arrivals=block.times + 1
    ),
    plain_blocks,
    moments,
    moments,
    moments,
)
ends = st.builds(
    EndSettings,
    memory=st.sampled_from(["host", "device"]),
    pages=st.sampled_from(["4K", "huge"]),
    wait=st.sampled_from(["block", "spin"]),
    core=st.none() | st.integers(0, 99),
)
configurations = st.builds(
    Configuration,
    transport=st.sampled_from(["mpi", "shm", "tcp"]),
    pattern=st.sampled_from(["pingpong", "stream", "put"]),
    mode=st.sampled_from(["blocking", "onesided"]),
    size=counts,
    initiator=ends,
    responder=ends,
    pair=st.tuples(ranks, ranks),
    rate=st.none() | positive,
    verify=st.booleans(),
    concurrency=st.integers(1, 9),
)
launches = st.integers(0, 30)
measurements = st.builds(
    Measurement,
    configuration=configurations,
    slice=st.integers(0, 100),
    at=numbers,
    first=st.integers(0, 1 << 56),
    warm_up=st.builds(WarmUp, counts, st.integers(0, 1 << 56), st.booleans()),
    iterations=st.integers(1, 1 << 30),
    stopped=st.sampled_from(["converged", "time", "count", "full"]),
    blocks=st.lists(blocks, max_size=3),
    launch=launches,
    verified=st.none() | counts,
    cores=st.none() | st.tuples(st.none() | cores, st.none() | cores),
)
HEADER = Header(
    version=FORMAT,
    halftrip="0",
    started="2026-01-31T12:00:00+00:00",
    command=["halftrip", "run"],
    plan=plan_record(Plan()),
)


@given(measurements)
def test_a_measurement(measurement):
    again = decode(encode(measurement))
    assert again == measurement
    for block, written in zip(again.blocks, measurement.blocks, strict=True):
        for name in ("times", "peer_times", "receive_times", "peer_receive_times"):
            array = getattr(block, name)
            assert isinstance(array, np.ndarray)
            assert array.dtype == np.int64
            assert np.array_equal(array, getattr(written, name))


def test_blocks_are_compared_by_their_times():
    (block,) = runs.blocks([1, 2, 3])
    assert block == runs.blocks([1, 2, 3])[0]
    assert block != runs.blocks([1, 2, 4])[0]
    assert block != runs.blocks([1, 2])[0]
    assert block != runs.blocks([1, 2, 3], peer_times=runs.times(1))[0]
    assert block != "a block"
    with pytest.raises(TypeError):
        hash(block)


def test_what_a_block_does_not_have_is_not_written():
    (block,) = runs.blocks([1, 2, 3], rtts=None)
    line = encode(runs.measurement(samples=[1, 2, 3], rtts=None))
    assert b'"blocks":[{"times":[1,2,3],"start":0' in line
    for name in ("peer_times", "receive_times", "timed_out", "delivery", "usage"):
        assert name.encode() not in line
    assert block.peer_times.size == 0


def test_loading_keeps_arrays_and_no_lists_of_numbers(tmp_path):
    """Of a file of many measurements only one line at a time is there as Python numbers."""
    samples, measured = 10_000, 20
    line = encode(runs.measurement(samples=range(10**9, 10**9 + samples), iterations=1))
    path = tmp_path / "run.jsonl"
    path.write_bytes(encode(HEADER) + measured * line)
    tracemalloc.start()
    try:
        run = load(path)
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    arrays = 8 * samples * measured
    assert arrays < kept < 1.1 * arrays
    # A number and its place in a list take 40 bytes; all of them would be five times the arrays.
    assert most < kept + 2 * 40 * samples
    lists = [each for each in gc.get_objects() if type(each) is list and len(each) >= samples]
    assert not any(type(each[0]) is int and each[0] == 10**9 for each in lists)
    assert len(run.measurements) == measured
