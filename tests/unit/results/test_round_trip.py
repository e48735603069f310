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
from halftrip.results.counts import CountedSlice, Counts
from halftrip.results.delivery import Delivery
from halftrip.results.records import (
    Aggregate,
    ClockComparison,
    ClockInfo,
    CopyTime,
    Environment,
    Failure,
    Header,
    HostCounters,
    Measurement,
    Notice,
    RunEnd,
    Skip,
    WarmUp,
)
from halftrip.results.run_file import FORMAT, assemble, decode, encode, load
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
COUNTED = ("iterations", "instructions", "cycles")
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
environments = st.builds(
    Environment,
    rank=st.integers(0, 9),
    host=names,
    pid=counts,
    core=st.none() | st.integers(0, 9),
    allowed_cores=st.lists(st.integers(0, 9), max_size=3),
    oversubscribed=st.booleans(),
    **dict.fromkeys(("processor", "kernel", "python"), names),
    clock=st.builds(ClockInfo, source=names, hertz=numbers, cost=numbers, resolution=numbers),
    **dict.fromkeys(("thp", "governor", "hypervisor", "mpi", "mpi_library"), st.none() | names),
    variables=st.dictionaries(names, names, max_size=2),
    launch=launches,
    thread_cores=st.none() | st.lists(st.none() | st.integers(0, 9), max_size=2),
    poll_pause=st.none() | counts,
)
others = st.one_of(
    environments,
    st.builds(
        Skip,
        transport=names,
        reason=names,
        sizes=st.none() | st.lists(counts, max_size=3),
        pairs=st.none() | st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3),
    ),
    st.builds(
        ClockComparison,
        rank=st.just(3),
        ranks=st.lists(st.integers(1, 9), max_size=3).map(lambda others: [3, *others]),
        at=moments,
        ahead=moments,
        round_trip=st.integers(0, 1 << 56),
        launch=launches,
    ),
    st.builds(
        Failure,
        configuration=configurations,
        slice=st.integers(0, 9),
        reason=names,
        launch=launches,
    ),
    st.lists(st.tuples(counts, numbers), max_size=3).flatmap(
        lambda moments: st.builds(
            Aggregate,
            configuration=configurations,
            slice=st.integers(0, 9),
            pairs=st.lists(st.tuples(ranks, ranks), min_size=1, max_size=3),
            spans=st.just([span for span, _ in moments]),
            messages=st.just([count for _, count in moments]),
            launch=launches,
        )
    ),
    st.builds(
        CountedSlice,
        configuration=configurations,
        slice=st.integers(0, 9),
        launch=st.integers(0, 9),
        ends=st.tuples(*[st.none() | st.builds(Counts, **dict.fromkeys(COUNTED, counts))] * 2),
    ),
    st.builds(CopyTime, rank=st.integers(0, 9), size=st.integers(1, 1 << 40), ns=positive),
    st.builds(
        HostCounters,
        host=names,
        rank=st.integers(0, 9),
        phase=st.sampled_from(["before", "during", "after"]),
        at=numbers,
        seconds=positive,
        cpus=st.dictionaries(names, st.dictionaries(names, numbers, max_size=2), max_size=2),
        memory_used=st.none() | counts,
        memory_total=st.none() | counts,
        counts=st.dictionaries(names, counts, max_size=2),
        interfaces=st.dictionaries(names, st.dictionaries(names, counts, max_size=2), max_size=2),
        interrupts=st.just({}),
        softnet=st.just({}),
        configurations=st.lists(configurations, max_size=2),
        slices=st.lists(st.integers(0, 9), max_size=2),
        launch=launches,
    ),
    st.builds(Notice, rank=st.integers(0, 9), host=names, text=names, launch=launches),
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


@given(st.lists(st.one_of(measurements, others), max_size=6), st.none() | names)
def test_a_whole_run(tmp_path_factory, records, reason):
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    end = RunEnd(reason=reason)
    # All of the ranks that records name.
    records = [*records, *map(runs.environment, range(10))]
    path.write_bytes(b"".join(encode(record) for record in (HEADER, *records, end)))
    run = load(path)
    assert run == assemble(HEADER, [*records, end])
    assert run.header == HEADER
    assert list(run.measurements) == [r for r in records if isinstance(r, Measurement)]
    assert list(run.environments) == [r for r in records if isinstance(r, Environment)]
    assert list(run.skips) == [r for r in records if isinstance(r, Skip)]
    assert list(run.failures) == [r for r in records if isinstance(r, Failure)]
    assert list(run.aggregates) == [r for r in records if isinstance(r, Aggregate)]
    assert list(run.clock_comparisons) == [r for r in records if isinstance(r, ClockComparison)]
    assert list(run.copy_times) == [r for r in records if isinstance(r, CopyTime)]
    assert list(run.host_counters) == [r for r in records if isinstance(r, HostCounters)]
    assert list(run.counted_slices) == [r for r in records if isinstance(r, CountedSlice)]
    assert list(run.notices) == [r for r in records if isinstance(r, Notice)]
    assert run.interrupted == reason
    assert run.problems == ()


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
