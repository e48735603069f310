"""The benchmarks: every family builds its comparisons, with every peer that it names."""

import contextlib
import re
import shutil
import sys

import numpy as np
import pytest

from harness.choice import FULL
from harness.files import module
from lab.hosts import need_hosts

HAS_IMB = shutil.which("IMB-MPI1") is not None
# How many comparisons each family has: at one size each, as the fixture below has it.
FAMILIES = {
    "mpi": 5,
    # Three MPIs, and TCP twice or once.
    "stream": 3 + 2,
    "bidirectional": 3 + 1,
    # Three MPIs, put and get.
    "onesided": 3 * 2,
    "mpi4py": 1,
    "tcp": 3,
    "udp": 2,
    "shm": 4,
    # Two ways each: in turn, a stream and a put of UCX, in turn of libfabric.
    "ucx": 2 * 3,
    "libfabric": 2,
    # Three MPIs; IMB where it is; TCP both ways to measure, and UDP.
    "recipes": 3 + HAS_IMB + 3,
    # Three MPIs beside OSU's counts, two of them beside NetPIPE; IMB where it is; sockets.
    "load": 3 + 2 + HAS_IMB + 4,
    # Two ways to start: tcp, udp and a stream; then tcp and udp that poll, and a stream of udp.
    "hosts": 2 * 3 + 3,
}
THROUGHPUT = ("stream", "bidirectional", "onesided")
# Peers whose mean is known beside their median.
WITH_MEANS = ("plain C", "sockperf", "a script")


def is_throughput(family, name):
    has_streams = (family == "hosts" and ", stream," in name) or name.startswith("like-iperf3")
    return family in THROUGHPUT or has_streams or name.endswith(" tag_bw")


@pytest.fixture
def peers(monkeypatch):
    """The benchmark, with so little to measure as still shows that everything is compared."""
    made = module("benchmarks/peers.py")
    families = sys.modules["families"]
    halftrip = families.halftrip
    monkeypatch.setattr(families.two_hosts, "LATENCY_SIZES", (64,))
    monkeypatch.setattr(families.two_hosts, "SECOND", ("--time", "20ms"))
    monkeypatch.setattr(families, "LATENCY_SIZES", (8,))
    monkeypatch.setattr(families.ucx, "SIZES", (8,))
    for sizes in ("LOADED_SIZES", "RECIPE_SIZES"):
        monkeypatch.setattr(families, sizes, (8,))
    monkeypatch.setattr(families, "WINDOW_SIZES", (65536,))
    monkeypatch.setattr(families, "WRITE_SIZES", (131072,))
    monkeypatch.setattr(
        families, "halftrip", lambda *given, **more: halftrip(*given, "--time", "20ms", **more)
    )
    return made


def test_every_family_builds_its_comparisons(peers, monkeypatch):
    """Without its peers: whether these are installed is looked up, and C is compiled, before."""
    families = sys.modules["families"]
    asked = []
    for each in (families, families.two_hosts):
        monkeypatch.setattr(each, "require", lambda *programs: asked.extend(programs))
    for compiled in ("plain_c", "osu_sweep"):
        monkeypatch.setattr(families, compiled, lambda *_: dict)
    assert set(families.FAMILIES) == set(FAMILIES)
    # Hosts need a lab; they are compared below.
    for family in FAMILIES.keys() - {"hosts"}:
        with contextlib.ExitStack() as resources:
            made = list(families.FAMILIES[family](resources))
        assert len({comparison.name for comparison in made}) == len(made) == FAMILIES[family]
        for comparison in made:
            goal = comparison.goals(64)
            assert goal.more_is_better == is_throughput(family, comparison.name)
    assert set(asked) <= set(sys.modules["contenders"].PACKAGES)


@pytest.mark.extended
def test_a_figure_is_that_of_all_slices(peers, shell):
    contenders = sys.modules["contenders"]
    result = shell.measure("simulated", "-s", "8", "-r", "3", "--launches", "1")
    (slices,) = result.run.by_configuration.values()
    assert len(slices) == 3
    every = np.concatenate([each.one_way_times for each in slices])
    figures = contenders.times_of(result.run, contenders.median_ns)
    assert figures == {8: (np.median(every) / 1e3, every.mean() / 1e3)}


@pytest.mark.extended
@pytest.mark.parametrize("family", FAMILIES if FULL else ["tcp", "shm"])
def test_every_peer_is_compared(shell, peers, monkeypatch, capsys, family):
    if family == "hosts":
        need_hosts()
    monkeypatch.setattr(sys, "argv", ["peers.py", "--only", family, "--rounds", "1"])
    with shell.inside():
        peers.main()
    lines = capsys.readouterr().out.splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    assert len({row[0] for row in rows}) == len(rows) == FAMILIES[family]
    for name, _, figure, ours, peer, ratio, wanted, _, _, by_mean, by_best in rows:
        assert re.fullmatch(r"[\d.]+ \([\d.]+ to [\d.]+\)", ratio)
        one = float(ratio.split()[0])
        assert one == pytest.approx(float(ours) / float(peer), rel=0.01)
        more = is_throughput(family, name)
        assert figure.endswith("more is better" if more else "less is better")
        is_the_same = family in ("onesided", "recipes")
        assert wanted.startswith("at least" if more else "at most") or is_the_same
        # Where halftrip measures both, it has the means of both. Errors are of what each tool says
        # first, and recipes are compared by the tool's statistic.
        has_mean = name.endswith(WITH_MEANS) or ", mpi of " in name
        assert (by_mean != "-") == (has_mean and family not in ("load", "recipes"))
        # There is one round.
        assert float(by_best) == pytest.approx(one, rel=0.01)
