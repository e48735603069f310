"""Every pattern over every transport: the messages arrive as they were sent, or the row fails."""

import itertools

import pytest

from halftrip.registry import DEFAULT_TRANSPORTS, TRANSPORTS
from halftrip.results.patterns import SHAPES
from halftrip.results.run_file import load
from harness.shell import MPIEXECS, mpiexec

# Small, a partial word, and one that is cut into chunks or does not fit into a buffer.
SIZES = "1,8,1021,300000"
QUICK = ("-s", SIZES, "--time", "5ms", "--window", "3", "--verify")
LOCAL = [name for name in DEFAULT_TRANSPORTS if name not in ("mpi", "udp")]
PATTERNS = list(SHAPES)


def possible(transport):
    """The (pattern, mode) pairs that a transport can do."""
    by_mode = TRANSPORTS.load(transport).capabilities.patterns
    return {(pattern, mode) for mode, patterns in by_mode.items() for pattern in patterns}


def check_verified(run, expected):
    """Every one of the (transport, pattern, mode) has rows, all of them verified."""
    assert run.failures == ()
    assert run.interrupted is None
    measured = {(m.case.transport, m.case.pattern, m.case.mode) for m in run.measurements}
    assert measured == expected
    assert all(m.verified > 0 for m in run.measurements)


def test_every_local_pattern_is_verified(shell):
    result = shell.run(*QUICK, "-t", ",".join(LOCAL), "-p", ",".join(PATTERNS), timeout=250)
    assert result.status == 0, result.err
    usual = {(pattern, shape.modes[0]) for pattern, shape in SHAPES.items()}
    expected = {(name, *kind) for name in LOCAL for kind in possible(name) & usual}
    check_verified(result.run, expected)
    assert "not measured: pipe get, put onesided: a byte stream has no memory" in result.out


def test_sockets_that_are_polled_are_verified_too(shell):
    arguments = ("-t", "tcp,pipe", "-p", "pingpong,stream,bidirectional,exchange,pingping")
    result = shell.run(*QUICK, *arguments, "--wait", "spin", timeout=250)
    assert result.status == 0, result.err
    check_verified(
        result.run,
        {
            (t, p, "blocking")
            for t, p in itertools.product(
                ("tcp", "pipe"), ("pingpong", "stream", "bidirectional", "exchange", "pingping")
            )
        },
    )


@pytest.mark.parametrize("name", MPIEXECS)
def test_every_pattern_and_mode_of_mpi_is_verified(shell, name):
    modes = "blocking,nonblocking,persistent,ssend,onesided"
    arguments = ("-t", "mpi", "-p", ",".join(PATTERNS), "-m", modes)
    result = shell.run(*QUICK, *arguments, "--mpiexec", mpiexec(name), timeout=280)
    assert result.status == 0, result.err
    check_verified(result.run, {("mpi", *kind) for kind in possible("mpi")})


@pytest.mark.parametrize("name", MPIEXECS)
@pytest.mark.parametrize("datatype", ["contiguous", "vector"])
def test_datatypes_bring_their_blocks_and_nothing_else(shell, name, datatype):
    arguments = ("-s", "8,1K,100000", "-p", "pingpong,stream,bidirectional,put,get")
    result = shell.run(
        *("-t", "mpi", "--time", "5ms", "--window", "3", "--verify", "--datatype", datatype),
        *arguments,
        *("--mpiexec", mpiexec(name)),
        timeout=280,
    )
    assert result.status == 0, result.err
    assert len(result.run.measurements) == 15
    assert all(m.verified > 0 for m in result.run.measurements)
    assert {m.case.datatype for m in result.run.measurements} == {datatype}


@pytest.mark.parametrize("extra", [("--cache", "cold"), ("--align", "1")])
def test_other_buffers_are_verified_too(shell, extra):
    result = shell.run(*QUICK, "-t", "shm,tcp,mpi", "-p", "pingpong,stream,put", *extra)
    assert result.status == 0, result.err
    assert {m.case.pattern for m in result.run.measurements} == {"pingpong", "stream", "put"}
    assert all(m.verified > 0 for m in result.run.measurements)


@pytest.mark.parametrize("cache", ["hot", "cold"])
def test_one_buffer_for_both_ways_is_for_a_ping_pong_in_turn(shell, cache):
    patterns, modes = ",".join(PATTERNS), "blocking,nonblocking,onesided"
    result = shell.run(
        *("-s", "1021", "--time", "5ms", "--verify", "--buffers", "same", "--cache", cache),
        *("-t", "shm,tcp,mpi,udp", "-p", patterns, "-m", modes),
    )
    assert result.status == 0, result.err
    kinds = {(m.case.transport, m.case.pattern, m.case.mode) for m in result.run.measurements}
    assert kinds == {(name, "pingpong", "blocking") for name in ("shm", "tcp", "mpi", "udp")}
    assert "only a ping-pong in turn sends from the buffer that it receives into" in result.out


def with_wrong_byte(shell, rank, offset):
    """An environment in which one byte of what a rank sends is not what it should be."""
    (shell.directory / "sitecustomize.py").write_text(
        "from halftrip.memory.ring import Ring\n"
        "fill = Ring.fill\n"
        "def spoil(self, slots, seeds):\n"
        "    fill(self, slots, seeds)\n"
        f"    if self._case.size > {offset}:\n"
        f"        sent = slots[seeds >> 48 == {rank}]\n"
        f"        self.region[sent * self._layout.stride + {offset}] ^= 0x40\n"
        "Ring.fill = spoil\n"
    )
    return {"PYTHONPATH": str(shell.directory)}


def senders(pattern, mode):
    """The ranks whose messages somebody checks."""
    if pattern == "get":
        return (1,)
    return (0, 1) if SHAPES[pattern].initiator else (0,)


SPOILED = [
    (transport, pattern, mode, rank)
    for transport in (*LOCAL, "mpi")
    for pattern, mode in sorted(possible(transport))
    for rank in senders(pattern, mode)
]


def test_a_wrong_byte_is_found_in_every_pattern_of_every_transport(shell):
    """One run for each rank: all that it sends has a wrong byte, and so every row fails that
    somebody receives it in."""
    for rank in (0, 1):
        path = f"{rank}.jsonl"
        modes = "blocking,nonblocking,persistent,ssend,onesided"
        result = shell.halftrip(
            *("run", "-o", path, "-s", "1021,300000", "--time", "5ms", "--window", "3", "--verify"),
            *("-t", ",".join((*LOCAL, "mpi")), "-p", ",".join(PATTERNS), "-m", modes),
            timeout=280,
            **with_wrong_byte(shell, rank, 1020),
        )
        assert result.status == 1
        run = load(shell.directory / path)
        assert run.interrupted is None
        failed = {(f.case.transport, f.case.pattern, f.case.mode) for f in run.failures}
        assert failed == {(t, p, m) for t, p, m, sender in SPOILED if sender == rank}
        assert len(run.failures) == 2 * len(failed)
        for failure in run.failures:
            assert failure.reason.startswith(f"rank {1 - rank}: byte 1020 is 0x")
            words = failure.reason.split()
            found, expected = int(words[5].rstrip(","), 16), int(words[6], 16)
            assert found ^ expected == 0x40
            assert failure.reason in result.out


def test_a_row_that_fails_is_shown_and_the_rest_is_measured(shell):
    result = shell.run(
        *("-t", "shm", "-s", "8,64", "--time", "5ms", "--verify"), **with_wrong_byte(shell, 0, 20)
    )
    assert result.status == 1
    assert [m.case.size for m in result.run.measurements] == [8]
    (failure,) = result.run.failures
    assert failure.case.size == 64
    assert f"failed: shm pingpong blocking 64, ranks 0-1: {failure.reason}" in result.out
