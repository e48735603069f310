"""What one copy by the kernel leaves of the speed of large messages, by runs whose copies and times
are known."""

import msgspec
import pytest

from halftrip.analysis.bend_causes import causes
from halftrip.analysis.fit import piecewise_fits
from halftrip.analysis.rows import rows
from halftrip.results.carrier import Carrier
from halftrip.results.records import CopyTime
from halftrip.results.threshold import Threshold
from halftrip.views.explain import explain
from harness.runs import environment, measurement, run

CMA = Threshold(
    name="the threshold of MPICH's single copy by CMA", value=8192, acts="protocol",
    source="MPI_T", transport="mpi", same_host=True,
)  # fmt: skip
SIZES = [8, 4096, 65536, 1 << 20, 4 << 20]


def made(speed, limit, transport="mpi", thresholds=(), hosts=("node1", "node1"), **changes):
    """A run of messages of some bytes/ns, beside copies of some others."""
    copies = [
        CopyTime(rank=rank, size=size, ns=size / limit, by_kernel=by_kernel)
        for rank in (0, 1) for size in (65536, 1 << 20) for by_kernel in (True, False)
    ]  # fmt: skip
    slices = [
        measurement(transport, size, half_ns=max(100.0, size / speed), slice=n, seed=n, **changes)
        for size in SIZES for n in range(6)
    ]  # fmt: skip
    ends = tuple(environment(rank, host=host) for rank, host in enumerate(hosts))
    return run(*slices, environments=ends, copy_times=tuple(copies), thresholds=tuple(thresholds))


def said(found):
    view = explain(found, causes(found, piecewise_fits(found)))
    texts = [each for block in view.blocks for each in getattr(block, "lines", ())]
    return [each for each in texts if "kernel" in str(each)], view.content()["curves"][0]


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (
            {"thresholds": [CMA]},
            ["from 8 KiB on one copy by the kernel", "alone has 10.0 GB/s", "8.00 GB/s at 1 MiB"],
        ),
        ({}, ["at 1 MiB 8.0", "if it is made, is limited to 10.0 GB/s"]),
        ({"transport": "ucx"}, ["if it is made"]),
        ({"thresholds": [CMA], "speed": 14.0}, ["14.0 GB/s, more than one copy", "another way"]),
    ],
)
def test_what_is_said(case, words):
    (line,), content = said(made(**({"speed": 8.0, "limit": 10.0} | case)))
    assert not [each for each in words if each not in line], line
    found = content["single_copy"]
    assert found["size_bytes"] == 1 << 20
    assert found["limit_bytes_per_s"] == pytest.approx(10e9)
    assert found["from_bytes"] == (8192 if case.get("thresholds") else None)
    assert found["excluded"] == ("speed" in case)


def test_copies_beside_the_slices_count_before_those_of_a_launch():
    found = made(8.0, 10.0, kernel_copy=(1 << 20) / 9.0)
    _, content = said(found)
    assert content["single_copy"]["size_bytes"] == 4 << 20
    assert content["single_copy"]["limit_bytes_per_s"] == pytest.approx(36e9)
    row = next(each for each in rows(found) if each.configuration.size == 1 << 20)
    assert row.kernel_copy == pytest.approx((1 << 20) / 9.0)


def test_messages_that_go_through_sockets_are_not_copied_so():
    found = made(8.0, 10.0, transport="ucx")
    carrier = Carrier(transport="ucx", rank=0, peer=1, library="UCX", ways=["tcp/lo"])
    assert said(msgspec.structs.replace(found, carriers=(carrier,)))[0] == []
    # Nor by way of UCX.
    over_mpi = made(8.0, 10.0)
    carrier = Carrier(transport="mpi", rank=0, peer=1, library="MPICH", ways=["ucx (ch4:ucx)"])
    ends = [
        msgspec.structs.replace(each, mpi="MPICH 4.2", variables={"UCX_TLS": "tcp,self"})
        for each in over_mpi.environments
    ]
    assert said(msgspec.structs.replace(over_mpi, carriers=(carrier,), environments=ends))[0] == []


@pytest.mark.parametrize(
    "case",
    [
        {"transport": "shm"},
        {"hosts": ("node1", "node2")},
        {"pattern": "bidirectional", "mode": "nonblocking"},
        {"pattern": "get", "mode": "onesided"},
        {"memory": "cuda"},
    ],
)
def test_where_nothing_is_said(case):
    lines, content = said(made(8.0, 10.0, **case))
    assert (lines, content["single_copy"]) == ([], None)
