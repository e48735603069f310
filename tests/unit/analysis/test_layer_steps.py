"""Which rows are compared with which, to tell what a layer adds."""

from functools import partial

import pytest

from halftrip.analysis.layers import MAY_DIFFER, below, below_in, partners, related, steps
from halftrip.registry import TRANSPORTS
from halftrip.results.carrier import Carrier
from harness.runs import configuration, measurement, run

OF_MPI = ["ucx", "libfabric", "shm", "tcp"]


def names(found):
    return [(each.upper.transport, each.lower.transport) for each in found]


def test_layers_are_ordered_from_below():
    uppers = [each.upper.transport for each in steps(map(configuration, TRANSPORTS.built_in))]
    assert len(uppers) == 12
    for number, upper in enumerate(uppers):
        assert not set(below(upper)) & set(uppers[number:])
    for name, layers in (
        ("mpi4py-object", ["mpi4py", "mpi", *OF_MPI]), ("mp-queue", ["mp-pipe", "unix"]),
        ("mpi", OF_MPI), ("ucx", ["shm", "tcp"]),
        ("zmq-ipc", ["unix"]), ("zmq", ["tcp"]),
        *((of, ["dragon", "mp-shm", "shm-ring", "shm"]) for of in ("dragon-queue", "dragon-pipe")),
    ):  # fmt: skip
        assert below(name) == layers
    assert partners("mpi") == [*OF_MPI, "mpi4py", "mpi4py-object"]
    assert partners("mp-pipe") == ["unix", "mp-queue"]
    assert partners("udp") == []
    # Related transports are in one chain.
    assert related(["udp", "mpi4py-object", "zmq", "mpi", "mpi"]) == ["mpi4py-object", "mpi"]
    assert related(["mp-pipe", "zmq-ipc", "mpi"]) == []
    assert related(["unix", "mp-queue"]) == ["unix", "mp-queue"]
    assert related([]) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"size": 16},
        {"pattern": "exchange"},
        {"mode": "nonblocking"},
        {"window": 64, "pattern": "stream"},
        {"pair": (2, 3)},
        {"concurrency": 2},
        {"buffers": "same"},
        {"cache": "cold"},
        {"pages": "huge"},
        {"datatype": "vector"},
        {"verify": True},
    ],
)
def test_all_else_has_to_be_alike(fields):
    assert steps([configuration("tcp"), configuration("zmq", **fields)]) == []
    assert len(steps([configuration("tcp", **fields), configuration("zmq", **fields)])) == 1


def test_all_sizes_of_a_curve_have_the_same_layer_below():
    """One that the layer has not is not made up from a layer farther down."""
    found = [
        *(configuration("mpi", size) for size in (8, 64)),
        configuration("mpi4py", 8),
        *(configuration("mpi4py-object", size) for size in (8, 64)),
    ]
    assert names(steps(found)) == [("mpi4py", "mpi"), ("mpi4py-object", "mpi4py")]


def test_the_same_wait_is_preferred_before_what_is_sent():
    waits = ("block", "spin:block", "spin")
    lower = [configuration("tcp", wait=wait) for wait in waits]
    for wait in waits:
        ((upper, found),) = steps([*lower, configuration("zmq", wait=wait)])
        assert found.both_ends("wait") == upper.both_ends("wait") == wait
    ((_, first),) = steps([*lower[:2], configuration("zmq", wait="spin")])
    assert first.both_ends("wait") == "block"
    assert MAY_DIFFER[0] == "wait"
    kinds = (("dict", "spin"), ("bytes", "block"))
    lower = [configuration("mp-pipe", object=kind, wait=wait) for kind, wait in kinds]
    ((_, found),) = steps([*lower, configuration("mp-queue", object="dict", wait="block")])
    assert found.object == "bytes"


@pytest.mark.parametrize(
    ("ways", "below"),
    [
        ({}, ["mpi over ucx"]),
        ({"mpi": "ucx (pml ucx)", "ucx": "cma/memory"}, ["ucx over shm", "mpi over ucx"]),
        ({"mpi": "ucx (ch4:ucx)", "ucx": "tcp/eth0"}, ["ucx over tcp", "mpi over ucx"]),
        ({"mpi": "libfabric (mtl ofi)", "libfabric": "provider tcp;ofi_rxm, domain lo"},
         ["libfabric over tcp", "mpi over libfabric"]),
        ({"mpi": "shm (btl sm)", "ucx": "rc_mlx5/mlx5_0:1"}, ["mpi over shm"]),
        ({"mpi": "tcp (btl tcp)", "libfabric": "provider verbs;ofi_rxm, domain mlx5_0"},
         ["mpi over tcp"]),
    ],
)  # fmt: skip
def test_what_a_library_has_chosen_is_below_it(ways, below):
    carriers = tuple(
        Carrier(transport=name, rank=rank, peer=1 - rank, library="it", ways=[way])
        for name, way in ways.items()
        for rank in (0, 1)
    )
    found = run(*map(measurement, ("mpi", *OF_MPI)), carriers=carriers)
    assert [
        f"{upper} over {lower}"
        for upper, lower in names(steps(found.by_configuration, partial(below_in, found)))
    ] == below


def test_several_kinds_of_an_upper_layer_share_the_lower_row():
    uppers = [configuration("mpi4py-object", object=kind) for kind in ("bytes", "dict")]
    found = steps([configuration("mpi"), *uppers])
    assert [each.upper.object for each in found] == ["bytes", "dict"]
    assert {each.lower.object for each in found} == {"buffer"}
