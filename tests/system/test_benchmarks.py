"""The benchmarks run, with every peer that they name."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"

# How many comparisons each family has, and at how many sizes all of them are, together.
FAMILIES = {
    "mpi": (5, 5 * 4),
    # Three MPIs at three sizes, TCP at two.
    "stream": (3 + 2, 3 * 3 + 2 * 2),
    "bidirectional": (3 + 1, 3 * 3 + 2),
    "tcp": (3, 3),
    "udp": (2, 2),
    "shm": (4, 4),
}
THROUGHPUT = ("stream", "bidirectional")


def peers(*options):
    return subprocess.run(
        [sys.executable, BENCHMARKS / "peers.py", *options],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_every_peer_is_compared(family):
    result = peers("--only", family, "--rounds", "1")
    assert result.returncode == 0, result.stderr
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in result.stdout.splitlines()[2:]
    ]
    names, count = FAMILIES[family]
    assert len({row[0] for row in rows}) == names
    assert len(rows) == count
    for _, _, figure, ours, peer, ratio, wanted, _, _ in rows:
        assert re.fullmatch(r"[\d.]+ \([\d.]+ to [\d.]+\)", ratio)
        assert float(ratio.split()[0]) == pytest.approx(float(ours) / float(peer), rel=0.01)
        assert figure.endswith("more is better" if family in THROUGHPUT else "less is better")
        assert wanted.startswith("at least" if family in THROUGHPUT else "at most")


def test_a_family_that_is_not_there_is_said():
    result = peers("--only", "steam")
    assert result.returncode == 2
    assert "'steam'" in result.stderr
    assert "stream" in result.stderr
