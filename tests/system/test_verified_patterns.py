"""Every pattern over every transport: each byte arrives as it was sent, or the row fails."""

import itertools

import pytest

from halftrip.registry import DEFAULT_TRANSPORTS, TRANSPORTS
from halftrip.results.patterns import SHAPES
from harness.mpi import EVERY_MPI, ONE_HOST, chosen, quick_start
from harness.paths import IN_PYTHON
from harness.wrong_bytes import check_failure, is_checked, spoiled

LOCAL = [name for name in DEFAULT_TRANSPORTS if name != "mpi"]
PATTERNS = ",".join(SHAPES)
TWO_SIDED = ",".join(name for name, shape in SHAPES.items() if "blocking" in shape.modes)
MODES = "blocking,nonblocking,persistent,ssend,onesided"
QUICK = ("--time", "1ms", "--window", "3", "--verify")
# Small, a partial word, and a message that is cut into chunks or does not fit into a buffer.
SIZES = "1,8,1021,300000"


def possible(transport):
    """The (pattern, mode) pairs that a transport can do."""
    by_mode = TRANSPORTS.load(transport).capabilities.patterns
    return {(pattern, mode) for mode, patterns in by_mode.items() for pattern in patterns}


def kinds(configurations):
    return {
        (configuration.transport, configuration.pattern, configuration.mode)
        for configuration in configurations
    }


def check_verified(result):
    assert result.status == 0, result.err
    assert result.run.failures == ()
    assert result.run.interrupted is None
    assert all(m.verified > 0 for m in result.run.measurements)
    return [m.configuration for m in result.run.measurements]


def test_every_local_pattern_is_verified_however_receivers_wait(shell):
    result = shell.run(
        *QUICK, "-s", SIZES, "-t", ",".join(LOCAL), "-p", PATTERNS, "--wait", "block,spin"
    )
    configurations = check_verified(result)
    usual = {(pattern, shape.modes[0]) for pattern, shape in SHAPES.items()}
    for wait in ("block", "spin"):
        names = [name for name in LOCAL if wait in TRANSPORTS.load(name).capabilities.waits]
        expected = {(name, *kind) for name in names for kind in possible(name) & usual}
        assert (
            kinds(
                configuration
                for configuration in configurations
                if configuration.both_ends("wait") == wait
            )
            == expected
        )
    assert "not measured: pipe get, put onesided: a byte stream has no memory" in result.out


def test_every_pattern_in_python_is_verified_whatever_is_sent(shell):
    result = shell.run(
        *(*QUICK, "-s", "0,300000", "-t", ",".join(IN_PYTHON), "-p", PATTERNS, "-r", "1"),
        *("--object", "buffer,bytes,array,dict", "--socket", "pair,req"),
    )
    configurations = check_verified(result)
    expected = {(name, *kind) for name in IN_PYTHON for kind in possible(name)}
    assert kinds(configurations) == expected
    for name in IN_PYTHON:
        found = [each for each in configurations if each.transport == name]
        choices = TRANSPORTS.load(name).capabilities.choices
        assert {each.object for each in found} == set(choices.object)
        assert {each.socket for each in found} == set(choices.socket or [None])
    assert "not measured: mp-pipe bidirectional, exchange, pingping" in result.out
    assert "--socket req: a request has to be answered before the next" in result.out


@pytest.mark.parametrize("name", EVERY_MPI)
def test_every_pattern_and_mode_of_mpi_is_verified(shell, name):
    result = shell.run(
        *(*QUICK, "-s", SIZES, "-t", "mpi", "-p", PATTERNS, "-c", MODES, *chosen(name)),
        **quick_start(name),
    )
    assert kinds(check_verified(result)) == {("mpi", *kind) for kind in possible("mpi")}


@pytest.mark.parametrize(
    ("name", "slices", "sizes"),
    [
        # Longer than an irecv without a buffer can receive.
        ("wheel", 1, "40000"),
        # In the second slice, endpoints with more requests than some MPIs have are made anew.
        *(
            pytest.param(name, 2, "1021,300000", marks=pytest.mark.extended)
            for name in ("wheel", "openmpi", "mpich")
        ),
    ],
)
def test_every_pattern_mode_and_object_of_mpi4py_is_verified(shell, name, slices, sizes):
    names, objects = ("mpi4py", "mpi4py-object"), ("bytes", "array", "dict")
    result = shell.run(
        *(*QUICK, "-r", slices, "-s", sizes, "-t", ",".join(names), "-p", TWO_SIDED),
        *("-c", MODES, "--object", ",".join(objects), *chosen(name)),
        **quick_start(name),
    )
    found = check_verified(result)
    expected = {(name, *kind) for name in names for kind in possible(name)}
    assert kinds(found) == expected
    for kind in objects:
        of_kind = [configuration for configuration in found if configuration.object == kind]
        assert kinds(of_kind) == {one for one in expected if one[0] == "mpi4py-object"}


@pytest.mark.extended
@pytest.mark.parametrize("name", EVERY_MPI)
def test_windows_that_the_peer_touches_are_verified(shell, name):
    """Also strided ones, which span more memory than they have bytes."""
    result = shell.run(
        *(*QUICK, "-s", "8,4000", "-t", "shm,mpi", "-p", "put,get", "--datatype", "byte,vector"),
        *("--touch", "none,untimed,timed", *chosen(name)),
        **quick_start(name),
    )
    found = sorted(
        (
            configuration.transport,
            configuration.pattern,
            configuration.touch,
            configuration.datatype,
            configuration.size,
        )
        for configuration in check_verified(result)
    )
    touched = list(itertools.product(("get", "put"), ("none", "timed", "untimed")))
    datatypes = {"mpi": ("byte", "vector"), "shm": ("byte",)}
    assert found == [
        (transport, *kind, datatype, size)
        for transport in ("mpi", "shm")
        for kind in touched
        for datatype in datatypes[transport]
        for size in (8, 4000)
    ]


def test_windows_in_one_place_and_in_places_of_their_own(shell):
    """A single message has one place, whatever is asked for; a persistent request is bound to its
    own."""
    result = shell.run(
        *("--time", "1ms", "-s", "1021", "-t", "shm,tcp,mpi", "-p", "pingpong,stream,put"),
        *("-c", "blocking,nonblocking,persistent,onesided", "--window", "1,3"),
        *("--places", "own,same"),
        **ONE_HOST,
    )
    assert result.status == 0, result.err
    assert result.run.failures == ()
    configurations = [m.configuration for m in result.run.measurements]
    streams = [
        configuration for configuration in configurations if configuration.pattern != "pingpong"
    ]
    places = {
        (configuration.transport, configuration.pattern, configuration.mode): []
        for configuration in streams
    }
    for configuration in streams:
        places[configuration.transport, configuration.pattern, configuration.mode].append(
            (configuration.window, configuration.places)
        )
    assert all(sorted(of) == [(1, "same"), (3, "own"), (3, "same")] for of in places.values())
    modes = {("mpi", "stream", mode) for mode in ("blocking", "nonblocking", "persistent")}
    assert set(places) == modes | {
        *(("mpi", "put", "onesided"), ("shm", "put", "onesided")),
        *(("shm", "stream", "blocking"), ("tcp", "stream", "blocking")),
    }


@pytest.mark.extended
@pytest.mark.parametrize("name", EVERY_MPI)
def test_datatypes_bring_their_blocks_and_nothing_else(shell, name):
    patterns = ("pingpong", "stream", "bidirectional", "put", "get")
    result = shell.run(
        *(*QUICK, "-s", "8,1K,100000", "-t", "mpi", "-p", ",".join(patterns)),
        *("--datatype", "contiguous,vector", *chosen(name)),
        **quick_start(name),
    )
    found = sorted(
        (configuration.datatype, configuration.pattern, configuration.size)
        for configuration in check_verified(result)
    )
    expected = itertools.product(("contiguous", "vector"), patterns, (8, 1024, 100000))
    assert found == sorted(expected)


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
    separate = {
        (name, *kind)
        for name in ("shm", "tcp", "mpi")
        for kind in possible(name) & set(modes.items())
    } - {("mpi", "put", "onesided")}  # MPI aligns its windows itself
    for cache in ("hot", "cold"):
        found = [configuration for configuration in configurations if configuration.cache == cache]
        assert (
            kinds(configuration for configuration in found if configuration.buffers == "separate")
            == separate
        )
        same = {(name, "pingpong", "blocking") for name in ("shm", "tcp", "mpi")}
        assert (
            kinds(configuration for configuration in found if configuration.buffers == "same")
            == same
        )
    assert "only a ping-pong in turn sends from the buffer that it receives into" in result.out


@pytest.mark.extended
def test_buffers_beyond_the_real_cache_are_verified(shell):
    result = shell.run(
        *(*QUICK, "-s", "300000", "-t", "shm,tcp,mpi", "-p", "pingpong,stream,put"),
        *("--cache", "cold"),
        **ONE_HOST,
    )
    configurations = check_verified(result)
    assert {configuration.pattern for configuration in configurations} == {
        "pingpong",
        "stream",
        "put",
    }
    assert {configuration.transport for configuration in configurations} == {"shm", "tcp", "mpi"}


@pytest.mark.extended
def test_one_buffer_for_both_ways_is_for_a_ping_pong_in_turn(shell):
    result = shell.run(
        *(*QUICK, "-s", "1021", "--buffers", "same", "--cache", "hot,cold"),
        *("-t", "shm,tcp,mpi,udp", "-p", PATTERNS, "-c", "blocking,nonblocking,onesided"),
        **ONE_HOST,
    )
    configurations = check_verified(result)
    names = ("shm", "tcp", "mpi", "udp")
    for cache in ("hot", "cold"):
        found = kinds(
            configuration for configuration in configurations if configuration.cache == cache
        )
        assert found == {(name, "pingpong", "blocking") for name in names}
    assert "only a ping-pong in turn sends from the buffer that it receives into" in result.out


@pytest.mark.parametrize(
    ("transports", "size"),
    [
        ([*LOCAL, *IN_PYTHON], 1021),
        pytest.param(["mpi"], 1021, marks=pytest.mark.extended),
        pytest.param(["mpi4py", "mpi4py-object"], 1021, marks=pytest.mark.extended),
        # Cut into chunks.
        pytest.param(
            [*(n for n in LOCAL if n != "udp"), "mpi"], 300_000, marks=pytest.mark.extended
        ),
    ],
)
@pytest.mark.parametrize("rank", [0, 1])
def test_a_wrong_byte_fails_every_row_in_which_it_is_received(shell, rank, transports, size):
    """All that a rank sends has a wrong byte where it is long enough; rows of shorter messages are
    measured all the same."""
    result = shell.run(
        *(
            *QUICK,
            "-r",
            "2",
            "-s",
            f"8,{size}",
            "-t",
            ",".join(transports),
            "-p",
            PATTERNS,
            "-c",
            MODES,
        ),
        **spoiled(shell, rank, size - 1),
    )
    assert result.status == 1
    run = result.run
    assert run.interrupted is None
    everything = {(name, *kind) for name in transports for kind in possible(name)}
    assert (
        kinds(m.configuration for m in run.measurements if m.configuration.size == 8) == everything
    )
    failed = {kind for kind in everything if is_checked(kind[1], rank)}
    assert kinds(failure.configuration for failure in run.failures) == failed
    assert len(run.failures) == len(failed)
    for failure in run.failures:
        check_failure(failure, rank, size - 1)
        configuration = failure.configuration
        assert configuration.size == size
        kind = f"{configuration.transport} {configuration.pattern} {configuration.mode}"
        assert f"failed: {kind} {size}, ranks 0-1: {failure.reason}" in result.out
