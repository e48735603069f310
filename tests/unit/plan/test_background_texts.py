"""What a plan says of traffic beside what is timed."""

import pytest

from halftrip.errors import UsageError
from halftrip.plan.background import backgrounds, parsed, read
from halftrip.plan.layers import make_plan, options_layer
from halftrip.plan.plan import Plan
from halftrip.plan.setting import Point
from harness.plans import mistake


@pytest.mark.parametrize(
    ("said", "written", "flows", "offered"),
    [
        ("none", "none", 0, None),
        ("stream", "stream:64K", 1, None),
        ("stream*4", "stream*4:64K", 4, None),
        ("bidirectional:tcp", "bidirectional:tcp:64K", 1, None),
        ("stream:8K", "stream:8K", 1, None),
        ("stream*1:65536", "stream:64K", 1, None),
        ("stream:100Mbit", "stream:64K:100Mbit", 1, 12.5e6),
        ("pingpong:udp:1000:10MB", "pingpong:udp:1000:10MB", 1, 1e7),
    ],
)
def test_a_background_is_written_in_one_way(said, written, flows, offered):
    assert read(said) == read(written) == written
    found = parsed(written)
    assert (found.flows if found else 0) == flows
    assert (found.bytes_per_s if found else None) == offered


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("", "is no background; write PATTERN"),
        ("strem", "did you mean stream"),
        ("stream*0", "0 flows; 1 to 64"),
        ("stream*x", "is no background"),
        ("stream:tpc", "'tpc' in 'stream:tpc' is no transport, size or rate"),
        ("stream:tcp:8:9:10", "'10' in"),
        ("pingpong:tcp:0", "empty messages move nothing"),
        (3, "is no background"),
    ],
)
def test_what_is_no_background_is_said(said, why):
    with pytest.raises(UsageError, match=why):
        read(said)


@pytest.mark.parametrize(
    ("transport", "text", "why"),
    [
        ("unix", "stream:zmq", "stream:zmq:64K: the calls of zmq are Python's"),
        ("mp-pipe", "stream", "stream:64K: the calls of mp-pipe are Python's"),
        ("unix", "put", "put:64K: a byte stream has no memory to reach into"),
        ("unix", "stream:simulated", "nothing goes on beside a simulated path"),
    ],
)
def test_what_nothing_carries_is_refused_before_anything_starts(transport, text, why):
    def plan_of(transport):
        return make_plan(options_layer({"transport": transport, "background": f"none,{text}"}))

    assert why in mistake(lambda: plan_of(transport))
    if ":" not in text:
        # Others can: of this one it is said beside their rows.
        assert plan_of(f"{transport},shm").background


def test_it_uses_the_transport_that_is_timed_unless_it_names_one():
    point = Point(("none", "stream:64K", "stream:unix:64K"), None, None, {"transport": "unix"})
    assert backgrounds(point) == ("none", "stream:unix:64K")


def test_a_plan_has_threads_and_transports_for_it():
    plan = Plan(transport=("tcp",), threads=2, background=("none", "stream*3:64K", "stream:mpi:8"))
    assert plan.all_threads == 5
    assert plan.used_transports == ("tcp", "mpi")
    assert plan.without("mpi").used_transports == ("tcp",)
    assert plan.without("mpi").background == ("none", "stream*3:64K")
    assert Plan().all_threads == 1
