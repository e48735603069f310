"""Which rows are compared with which, to tell what a layer adds."""

from itertools import product

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.analysis.layers import BUILT_ON, MAY_DIFFER, below, partners, related, steps
from halftrip.results.configuration import Configuration
from harness.runs import configuration


class Wider(Configuration, frozen=True, kw_only=True):
    """A configuration that says what is sent."""

    object: str = "buffer"


def wider(transport, sent, **fields):
    known = {
        name: getattr(configuration(transport, **fields), name)
        for name in Configuration.__struct_fields__
    }
    return Wider(**(known | {"object": sent}))


def names(found):
    return [(each.upper.transport, each.lower.transport) for each in found]


def test_layers_are_ordered_from_below():
    order = list(BUILT_ON)
    for upper, lower in BUILT_ON.items():
        assert lower not in BUILT_ON or order.index(lower) < order.index(upper)
    assert below("mpi4py-object") == ["mpi4py", "mpi"]
    assert below("dragon-queue") == ["dragon", "mp-shm", "shm"]
    assert below("dragon-pipe") == below("dragon-queue")
    assert below("mp-queue") == ["mp-pipe", "unix"]
    assert below("zmq-ipc") == ["unix"]
    assert below("zmq") == ["tcp"]
    assert below("mpi") == []
    assert partners("mpi") == ["mpi4py", "mpi4py-object"]
    assert partners("mp-pipe") == ["unix", "mp-queue"]
    assert partners("udp") == []


def test_related_transports_are_in_one_chain():
    assert related(["udp", "mpi4py-object", "tcp", "mpi", "mpi"]) == ["mpi4py-object", "mpi"]
    assert related(["mp-pipe", "zmq-ipc", "mpi"]) == []
    assert related(["unix", "mp-queue"]) == ["unix", "mp-queue"]
    assert related([]) == []


def test_each_layer_is_compared_with_the_next_one_below():
    found = [configuration(name) for name in ("mpi4py-object", "mpi", "mpi4py", "tcp", "zmq")]
    assert names(steps(found)) == [("mpi4py", "mpi"), ("mpi4py-object", "mpi4py"), ("zmq", "tcp")]


def test_a_layer_that_was_not_measured_is_left_out():
    assert names(steps([configuration("mpi"), configuration("mpi4py-object")])) == [
        ("mpi4py-object", "mpi")
    ]
    assert names(steps([configuration("shm"), configuration("dragon-pipe")])) == [
        ("dragon-pipe", "shm")
    ]


def test_a_layer_that_has_not_the_mode_is_left_out_too():
    found = [
        configuration("mpi"),
        configuration("mpi", mode="nonblocking"),
        configuration("mpi4py"),
        *(configuration("mpi4py-object", mode=mode) for mode in ("blocking", "nonblocking")),
    ]
    assert names(steps(found)) == [
        ("mpi4py", "mpi"),
        ("mpi4py-object", "mpi4py"),
        ("mpi4py-object", "mpi"),
    ]


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


def test_the_same_wait_is_preferred():
    waits = ("block", "spin:block", "spin")
    lower = [configuration("tcp", wait=wait) for wait in waits]
    for wait in waits:
        ((upper, found),) = steps([*lower, configuration("zmq", wait=wait)])
        assert found.both_ends("wait") == upper.both_ends("wait") == wait
    ((_, first),) = steps([*lower[:2], configuration("zmq", wait="spin")])
    assert first.both_ends("wait") == "block"


def test_several_kinds_of_an_upper_layer_share_the_lower_row():
    uppers = [wider("mpi4py-object", kind) for kind in ("bytes", "dict")]
    found = steps([wider("mpi", "buffer"), *uppers])
    assert [each.upper.object for each in found] == ["bytes", "dict"]
    assert {each.lower.object for each in found} == {"buffer"}


def test_where_both_layers_have_the_same_kinds_they_are_compared_by_kind():
    found = steps(
        [wider(name, kind) for name in ("mp-pipe", "mp-queue") for kind in ("dict", "bytes")]
    )
    assert [each.upper.object for each in found] == ["dict", "bytes"]
    assert all(each.upper.object == each.lower.object for each in found)


def test_the_wait_counts_more_than_what_is_sent():
    assert MAY_DIFFER[0] == "wait"
    lower = [wider("mp-pipe", "dict", wait="spin"), wider("mp-pipe", "bytes", wait="block")]
    ((_, found),) = steps([*lower, wider("mp-queue", "dict", wait="block")])
    assert found.object == "bytes"


def test_requested_cores_do_not_matter():
    upper = configuration("zmq")
    ends = {
        name: msgspec.structs.replace(getattr(upper, name), core=core)
        for core, name in enumerate(("initiator", "responder"))
    }
    assert len(steps([configuration("tcp"), msgspec.structs.replace(upper, **ends)])) == 1


kinds = st.lists(
    st.sampled_from(
        list(
            product(
                ("mpi", "mpi4py", "mpi4py-object", "unix", "mp-pipe", "mp-queue", "udp"),
                (8, 64),
                ("spin", "block"),
                ("blocking", "nonblocking"),
            )
        )
    ),
    unique=True,
)


@given(kinds)
def test_both_of_a_step_were_measured_and_each_row_is_above_one_other_at_most(drawn):
    known = [configuration(name, size, wait, mode=mode) for name, size, wait, mode in drawn]
    found = steps(known)
    assert {each for step in found for each in step} <= set(known)
    assert len({each.upper for each in found}) == len(found)
    for upper, lower in found:
        assert lower.transport in below(upper.transport)
        assert (upper.size, upper.mode) == (lower.size, lower.mode)
    # What has its like in the next layer below is compared with it.
    for each in known:
        like = [
            other
            for other in known
            if other.transport == BUILT_ON.get(each.transport)
            and (other.size, other.mode) == (each.size, each.mode)
        ]
        if like:
            ((lower,),) = ([step.lower for step in found if step.upper == each],)
            assert lower in like
            assert (lower.initiator.wait == each.initiator.wait) or not any(
                other.initiator.wait == each.initiator.wait for other in like
            )
