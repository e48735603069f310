"""The benchmarks run, with every peer that they name."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"


@pytest.mark.timeout(600)
def test_every_peer_is_compared():
    result = subprocess.run(
        [sys.executable, BENCHMARKS / "peers.py", "--rounds", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    rows = [line.split("|")[1:-1] for line in result.stdout.splitlines()[2:]]
    peers = {row[0].strip() for row in rows}
    assert len(peers) == 12
    # 5 comparisons of MPI at four sizes, 3 of TCP, 4 of shared memory.
    assert len(rows) == 5 * 4 + 3 + 4
    assert all(re.fullmatch(r"[\d.]+ \([\d.]+ to [\d.]+\)", row[4].strip()) for row in rows)
