"""Configurations that no machine can measure, and the reasons."""

import contextlib
import re

import msgspec
import pytest

from halftrip.errors import UsageError
from halftrip.plan.configurations import outlasts
from halftrip.plan.layers import make_plan, options_layer, python_layer
from halftrip.registry import TRANSPORTS
from halftrip.transports.refusals import check_possible
from harness import runs
from harness.plans import mistake


def plan(**options):
    return make_plan(options_layer(options))


@pytest.mark.parametrize(
    ("options", "reasons"),
    [
        (
            {"transport": "mpi,shm", "mode": "onesided"},
            (
                "mpi: no onesided pingpong, only put, get; "
                "shm: no onesided pingpong, only put, get, put-pingpong"
            ),
        ),
        # The widest reason is the first: no size would help.
        ({"transport": "udp", "pattern": "exchange", "sizes": "0,8,1M"},
         "udp: udp has no exchange, only pingpong, stream"),
        ({"transport": "tcp", "sizes": "0"}, "tcp: a byte stream has no empty messages"),
        # One end that cannot is enough.
        (
            {"transport": "shm", "wait": "spin:block"},
            "shm: --wait block: shm is memory that is polled; there is nothing in it to sleep on",
        ),
        (
            {"transport": "tcp", "zerocopy": [True], "streams": "2,3"},
            "tcp: --zerocopy: over one connection alone, not over several --streams",
        ),
        (
            {"transport": "tcp", "zerocopy": [True], "buffers": "same"},
            (
                "tcp: --zerocopy: with --buffers same, a reply would change what is still to be "
                "sent"
            ),
        ),
        # Calls of Python.
        (
            {"transport": "mp-pipe", "pattern": "exchange"},
            (
                "mp-pipe: a send waits while the kernel's buffer is full: "
                "two ends that both send first would wait for ever"
            ),
        ),
        (
            {"transport": "zmq", "pattern": "stream", "socket": "req"},
            "zmq: --socket req: a request has to be answered before the next, as in a pingpong",
        ),
        # A simulated path.
        (
            {"transport": "simulated", "wait": "block"},
            "simulated: --wait block: a simulated path runs in virtual time, where nothing waits",
        ),
    ],
)  # fmt: skip
def test_a_plan_without_a_possible_configuration_is_a_usage_error(options, reasons):
    found = mistake(lambda: check_possible(plan(**options)))
    assert found == f"nothing of this can be measured: {reasons}"


@pytest.mark.parametrize(("loss", "pattern", "refused"), [
    ("1%", "stream", True), ("1%", "pingpong", False), ("0%", "stream", False),
])  # fmt: skip
def test_a_simulated_path_that_loses_messages_has_a_pingpong_alone(loss, pattern, refused):
    keys = {"simulated": {"loss": loss}, "pattern": pattern, "sizes": "8"}
    expected = pytest.raises(UsageError) if refused else contextlib.nullcontext()
    with expected as caught:
        check_possible(make_plan(python_layer(keys)))
    assert not refused or str(caught.value) == (
        "nothing of this can be measured: simulated: "
        "loss: no stream on a simulated path that loses messages, only pingpong"
    )


def test_a_kind_of_memory_is_refused_at_either_end():
    capabilities = TRANSPORTS.load("tcp").capabilities
    assert capabilities.refusal(runs.configuration("tcp")) is None
    for memory in ("cuda", "host:cuda", "cuda:host"):
        found = runs.configuration("tcp", memory=memory)
        assert capabilities.refusal(found) == (
            "--memory cuda: tcp has what the processor reaches, and else stages"
        )
        assert capabilities.refusal(msgspec.structs.replace(found, staging=0)) is None


def test_many_reasons_are_cut_short():
    many = plan(pattern="put", mode="ssend,persistent,nonblocking,blocking")
    said = mistake(lambda: check_possible(many))
    assert said.count("; ") == 4
    assert re.search(r"; and \d+ more$", said)


@pytest.mark.parametrize(
    "options",
    [
        {},
        # Waiting differently at both ends is possible with sockets.
        {"transport": "shm,tcp", "wait": "spin:block"},
        # Enough that one configuration is possible.
        {"rate": "1MB", "pattern": "pingpong,stream"},
        {"sizes": "0,8", "transport": "udp"},
        # How fast a path is depends on the machine.
        {"transport": "tcp", "pattern": "stream", "sizes": "1G", "window": "1000000"},
    ],
)
def test_a_plan_with_a_possible_configuration_is_accepted(options):
    check_possible(plan(**options))


def test_a_window_far_longer_than_the_time_allowed_is_refused():
    def of(allowed, size=1000, window=100, **changes):
        kind = {"pattern": "stream", "wait": "block", "window": window}
        return outlasts(allowed, runs.configuration("udp", size, **kind, **changes))

    allowed = plan(time="1s")
    assert of(allowed, rate=10_000.0) is None
    reason = of(allowed, rate=9_000.0)
    assert reason == "a window of 100 takes 11 s at this --rate, --time allows 1 s"
    assert of(plan(time="2s"), rate=9_000.0) is None
    assert of(allowed) is None
    reason = of(allowed, size=1 << 30, window=1000)
    assert reason == "a window of 1000 takes 11 s even at 100 GB/s, --time allows 1 s"
    # A requested count is made, however long it takes.
    assert of(plan(iterations="1"), rate=1.0) is None
