"""What cannot be measured is left out with the reason, and the rest is measured."""

import re

import pytest

from halftrip.registry import TRANSPORTS
from harness.shell import opened_shell

# More than any host has.
GIGABYTES = 1_000_000


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """A run that asks for more than any of its transports can do."""
    with opened_shell(tmp_path_factory.mktemp("refused")) as shell:
        result = shell.run(
            *("--launcher", "local", "-t", "mpi,shm,tcp,udp"),
            *("-p", "pingpong,stream,exchange,put"),
            *("-c", "blocking,nonblocking,persistent,onesided"),
            *("-s", f"0,8,{GIGABYTES}G", "--time", "1ms", "-r", "2"),
        )
        assert result.status == 0, result.err
        yield result


def test_each_transport_measures_what_it_can(refused):
    asked = {"pingpong", "stream", "exchange", "put"}
    sizes = {"shm": (0, 8), "tcp": (8,), "udp": (8,)}
    expected = {
        (name, pattern, mode, size)
        for name, measured in sizes.items()
        for mode, patterns in TRANSPORTS.load(name).capabilities.patterns.items()
        for pattern in asked & set(patterns)
        for size in measured
    }
    found = {(c.transport, c.pattern, c.mode, c.size) for c in refused.run.by_configuration}
    assert found == expected


def test_each_refusal_says_why(refused):
    for transport, said in (
        ("mpi", "the ranks were not started by an mpiexec"),
        ("shm", f"buffers need {4 * GIGABYTES * 1024} MiB on one host, where "),
        ("tcp", "a byte stream has no empty messages"),
        ("tcp", "a byte stream has no memory to reach into"),
        ("udp", "no room for its number"),
        ("udp", "no nonblocking calls"),
        ("udp", "no exchange"),
        ("udp", "no memory"),
    ):
        reasons = [skip.reason for skip in refused.run.skips if skip.transport == transport]
        assert any(said in reason for reason in reasons), reasons
        line = re.compile(rf"not measured: (.*, )?{transport}\b.*{re.escape(said)}")
        assert any(map(line.match, refused.out.splitlines()))


def test_only_the_size_that_no_memory_holds_is_refused(refused):
    for transport, patterns, buffers in (
        ("shm", ["exchange", "pingpong"], 4),
        ("shm", ["put"], 6),
        # One at each end for each message of a window, and one of the other kind.
        ("shm", ["stream"], 2 * (64 + 1)),
        ("tcp", ["stream"], 2 * (64 + 1)),
    ):
        (skip,) = (
            skip
            for skip in refused.run.skips
            if (skip.transport, skip.patterns) == (transport, patterns)
            and skip.sizes not in (None, [0])
        )
        assert skip.sizes == [GIGABYTES << 30]
        needed = buffers * GIGABYTES * 1024
        assert skip.reason.startswith(f"buffers need {needed} MiB on one host, where ")
