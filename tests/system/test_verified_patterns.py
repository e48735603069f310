"""Every pattern over every transport: each byte arrives as it was sent, or the row fails."""

import itertools

import pytest

from halftrip.registry import DEFAULT_TRANSPORTS, TRANSPORTS
from halftrip.results.patterns import SHAPES
from halftrip.units import size_name
from harness.choice import FULL, extended
from harness.mpi import ONE_HOST, chosen, quick_start
from harness.paths import IN_PYTHON

LOCAL = [name for name in DEFAULT_TRANSPORTS if name != "mpi"]
PATTERNS = ",".join(SHAPES)
TWO_SIDED = ",".join(name for name, shape in SHAPES.items() if "blocking" in shape.modes)
MODES = "blocking,nonblocking,persistent,ssend,onesided"
# In a second slice, endpoints with more requests than some MPIs have are made anew.
QUICK = ("--time", "1ms", "--window", "3", "--verify", "-r", "2")
# Small, a partial word, and a message that is cut into chunks or does not fit into a buffer.
SIZES = "1,8,1021,300000"


def possible(transport):
    """The (pattern, mode) pairs that a transport can do."""
    by_mode = TRANSPORTS.load(transport).capabilities.patterns
    return {(pattern, mode) for mode, patterns in by_mode.items() for pattern in patterns}


def kinds(configurations):
    return {(each.transport, each.pattern, each.mode) for each in configurations}


def check_verified(result):
    assert result.status == 0, result.err
    assert result.run.failures == ()
    assert result.run.interrupted is None
    assert all(m.verified > 0 for m in result.run.measurements)
    return [m.configuration for m in result.run.measurements]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("wheel", "1021"), *extended(*((each, SIZES) for each in ("wheel", "openmpi", "mpich")))],
)
def test_every_pattern_and_mode_of_mpi_is_verified(shell, name, sizes):
    result = shell.run(
        *(*QUICK, "-s", sizes, "-t", "mpi", "-p", PATTERNS, "-c", MODES, *chosen(name)),
        **quick_start(name),
    )
    assert kinds(check_verified(result)) == {("mpi", *kind) for kind in possible("mpi")}


@pytest.mark.parametrize(
    ("name", "sizes"),
    extended(
        # Longer than an irecv without a buffer can receive.
        ("wheel", "40000"),
        ("mpich", "1021,300000"),
        *([("openmpi", "1021,300000")] if FULL else []),
    ),
)
def test_every_pattern_mode_and_object_of_mpi4py_is_verified(shell, name, sizes):
    names, objects = ("mpi4py", "mpi4py-object"), ("bytes", "array", "dict")
    result = shell.run(
        *(*QUICK, "-s", sizes, "-t", ",".join(names), "-p", TWO_SIDED),
        *("-c", MODES, "--object", ",".join(objects), *chosen(name)),
        **quick_start(name),
    )
    found = check_verified(result)
    expected = {(name, *kind) for name in names for kind in possible(name)}
    assert kinds(found) == expected
    for kind in objects:
        of_kind = [configuration for configuration in found if configuration.object == kind]
        assert kinds(of_kind) == {one for one in expected if one[0] == "mpi4py-object"}


@pytest.mark.parametrize("name", extended("wheel", "mpich"))
def test_windows_that_the_peer_touches_are_verified(shell, name):
    """Also strided ones, which span more memory than they have bytes."""
    result = shell.run(
        *(*QUICK, "-s", "8,4000", "-t", "shm,mpi", "-p", "put,get", "--datatype", "byte,vector"),
        *("--touch", "none,untimed,timed", *chosen(name)),
        **quick_start(name),
    )
    found = {
        (each.transport, each.pattern, each.touch, each.datatype, each.size)
        for each in check_verified(result)
    }
    datatypes = [("shm", "byte"), ("mpi", "byte"), ("mpi", "vector")]
    assert found == {
        (transport, pattern, touch, datatype, size)
        for transport, datatype in datatypes
        for pattern in ("get", "put")
        for touch in ("none", "timed", "untimed")
        for size in (8, 4000)
    }


@pytest.mark.parametrize("name", extended("wheel", "mpich"))
def test_datatypes_bring_their_blocks_and_nothing_else(shell, name):
    patterns = ("pingpong", "stream", "bidirectional", "put", "get")
    result = shell.run(
        *(*QUICK, "-s", "8,1K,100000", "-t", "mpi", "-p", ",".join(patterns)),
        *("--datatype", "contiguous,vector", *chosen(name)),
        **quick_start(name),
    )
    found = {(each.datatype, each.pattern, each.size) for each in check_verified(result)}
    assert found == {*itertools.product(("contiguous", "vector"), patterns, (8, 1024, 100000))}


@pytest.mark.extended
def test_cold_unaligned_and_common_buffers_are_verified(shell):
    """One buffer for both ways is for a ping-pong in turn."""
    result = shell.run(
        *(*QUICK, "-s", "1021,300000", "-t", "shm,tcp,mpi", "-p", "pingpong,stream,put"),
        *("--cache", "hot,cold", "--align", "1", "--buffers", "same,separate"),
        **(ONE_HOST | shell.small_cache()),
    )
    configurations = check_verified(result)
    assert {configuration.align for configuration in configurations} == {1}
    modes = {"pingpong": "blocking", "stream": "blocking", "put": "onesided"}
    expected = {
        "separate": {
            (name, *kind)
            for name in ("shm", "tcp", "mpi")
            for kind in possible(name) & set(modes.items())
        }
        - {("mpi", "put", "onesided")},  # MPI aligns its windows itself
        "same": {(name, "pingpong", "blocking") for name in ("shm", "tcp", "mpi")},
    }
    for cache, buffers in itertools.product(("hot", "cold"), expected):
        found = [c for c in configurations if (c.cache, c.buffers) == (cache, buffers)]
        assert kinds(found) == expected[buffers]
    assert "only a ping-pong in turn sends from the buffer that it receives into" in result.out


# A rank that sends a wrong byte, and what has to be found then.

_SPOIL = """
from halftrip.memory.ring import Ring
fill = Ring.fill
def spoil(self, slots, seeds):
    fill(self, slots, seeds)
    if self._configuration.size > {offset}:
        sent = slots[seeds >> 48 == {rank}]
        last = {offset} - self._configuration.shape.is_polled
        self.region.bytes[sent * self._layout.stride + last] ^= 0x40
Ring.fill = spoil
"""


def spoiled(shell, rank, offset):
    """An environment in which the byte at `offset` of every message that `rank` sends is not what
    it should be; the one before where that tells that the message has come."""
    return shell.patched(_SPOIL.format(rank=rank, offset=offset))


def is_checked(pattern, rank):
    """Whether somebody receives, and so checks, what that rank sends in a pattern."""
    if pattern == "get":
        return rank == 1
    return rank == 0 or SHAPES[pattern].initiator


def check_failure(failure, rank, offset):
    """The failure of a row says which byte is wrong, at the rank that received it."""
    assert failure.reason.startswith(f"rank {1 - rank}: byte {offset} is 0x")
    words = failure.reason.split()
    found, expected = int(words[5].rstrip(","), 16), int(words[6], 16)
    assert found ^ expected == 0x40


@pytest.mark.parametrize(
    ("transports", "size", "rank"),
    [
        (LOCAL, 1021, 0),
        *extended(
            ([*LOCAL, *IN_PYTHON], 1021, 1),
            (["mpi"], 1021, 0),
            (["mpi4py", "mpi4py-object"], 1021, 1),
            # Cut into chunks.
            ([*(n for n in LOCAL if n != "udp"), "mpi"], 300_000, 0),
        ),
    ],
)
def test_a_wrong_byte_fails_every_row_in_which_it_is_received(shell, transports, size, rank):
    """All that a rank sends has a wrong byte where it is long enough; rows of shorter messages are
    measured all the same."""
    result = shell.run(
        *(*QUICK, "-s", f"8,{size}", "-t", ",".join(transports), "-p", PATTERNS, "-c", MODES),
        **spoiled(shell, rank, size - 1),
    )
    assert result.status == 1
    run = result.run
    assert run.interrupted is None
    everything = {(name, *kind) for name in transports for kind in possible(name)}
    short = kinds(m.configuration for m in run.measurements if m.configuration.size == 8)
    assert short == everything
    failed = {kind for kind in everything if is_checked(kind[1], rank)}
    assert kinds(failure.configuration for failure in run.failures) == failed
    assert len(run.failures) == len(failed)
    for failure in run.failures:
        configuration = failure.configuration
        check_failure(failure, rank, size - 1 - configuration.shape.is_polled)
        assert configuration.size == size
        kind = f"{configuration.transport} {configuration.pattern} {configuration.mode}"
        assert f"failed: {kind} {size_name(size)}, ranks 0-1: {failure.reason}" in result.out
