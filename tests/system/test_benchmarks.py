"""The benchmarks: every family builds its comparisons, with every peer that it names."""

import re
import sys
from pathlib import Path

import pytest

from harness.files import module

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
}
THROUGHPUT = ("stream", "bidirectional", "onesided")
# Peers whose mean is known beside their median.
WITH_MEANS = ("plain C", "sockperf", "a script")
# It needs nothing that is not installed beside halftrip.
WITHOUT_PROGRAMS = ("mpi4py",)


@pytest.fixture
def peers(monkeypatch):
    """The benchmark, with so little to measure as still shows that everything is compared."""
    made = module("benchmarks/peers.py")
    families = sys.modules["families"]
    halftrip = families.halftrip
    monkeypatch.setattr(families, "LATENCY_SIZES", (8,))
    monkeypatch.setattr(families, "WINDOW_SIZES", (65536,))
    monkeypatch.setattr(families, "WRITE_SIZES", (131072,))
    monkeypatch.setattr(
        families, "halftrip", lambda *given, **more: halftrip(*given, "--time", "20ms", **more)
    )
    return made


def compare(peers, monkeypatch, capsys, *arguments):
    """What the benchmark prints: its lines and its errors."""
    monkeypatch.setattr(sys, "argv", ["peers.py", *arguments])
    peers.main()
    printed = capsys.readouterr()
    return printed.out.splitlines(), printed.err


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_builds_its_comparisons(peers, monkeypatch, family):
    """Without its peers: whether these are installed is looked up, and C is compiled, before."""
    families = sys.modules["families"]
    asked = []
    monkeypatch.setattr(families, "require", lambda *programs: asked.extend(programs))
    monkeypatch.setattr(families, "plain_c", lambda *_: dict)
    made = list(families.FAMILIES[family](Path("unused")))
    assert len({comparison.name for comparison in made}) == len(made) == FAMILIES[family]
    for comparison in made:
        assert callable(comparison.ours)
        assert callable(comparison.peer)
        goal = comparison.goals(64)
        assert goal.more_is_better == (family in THROUGHPUT)
    assert set(asked) <= set(sys.modules["contenders"].PACKAGES)
    assert bool(asked) == (family not in WITHOUT_PROGRAMS)


def test_every_family_is_known(peers):
    assert set(sys.modules["families"].FAMILIES) == set(FAMILIES)


def test_a_family_that_is_not_there_is_said(peers, monkeypatch, capsys):
    with pytest.raises(SystemExit) as ended:
        compare(peers, monkeypatch, capsys, "--only", "steam")
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "'steam'" in said
    assert "stream" in said


@pytest.mark.extended
@pytest.mark.parametrize("family", FAMILIES)
def test_every_peer_is_compared(shell, peers, monkeypatch, capsys, family):
    with shell.inside():
        lines, _ = compare(peers, monkeypatch, capsys, "--only", family, "--rounds", "1")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    assert len({row[0] for row in rows}) == len(rows) == FAMILIES[family]
    for name, _, figure, ours, peer, ratio, wanted, _, _, by_mean, by_best in rows:
        assert re.fullmatch(r"[\d.]+ \([\d.]+ to [\d.]+\)", ratio)
        assert float(ratio.split()[0]) == pytest.approx(float(ours) / float(peer), rel=0.01)
        assert figure.endswith("more is better" if family in THROUGHPUT else "less is better")
        if family == "onesided":
            assert wanted.startswith("0.95 to 1.05")
        else:
            assert wanted.startswith("at least" if family in THROUGHPUT else "at most")
        # Where halftrip measures both, it has the means of both.
        has_means = name.endswith(WITH_MEANS) or ", mpi of " in name
        assert (by_mean != "-") == has_means
        # There is one round.
        assert float(by_best) == pytest.approx(float(ratio.split()[0]), rel=0.01)
