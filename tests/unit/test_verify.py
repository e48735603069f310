"""With --verify every message is checked, whichever of a batch it is."""

import numpy as np
import pytest

from halftrip.memory.ring import Ring
from halftrip.results.case import Case
from harness.bench import measure

CASES = [
    ("shm", "pingpong", "separate", 1),
    ("shm", "pingpong", "same", 1),
    ("shm", "stream", "separate", 8),
    ("unix", "stream", "separate", 8),
    ("tcp", "bidirectional", "separate", 8),
    ("udp", "pingpong", "separate", 1),
    ("udp", "stream", "separate", 8),
]


def case(transport, pattern, buffers, window):
    return Case(
        transport=transport, pattern=pattern, buffers=buffers, window=window,
        size=8192, wait="spin", verify=True,
    )  # fmt: skip


@pytest.mark.parametrize("those", CASES)
def test_all_messages_of_all_batches_are_checked(those, monkeypatch):
    """As many as are filled, and none twice."""
    filled, checked = [], []
    fill, check = Ring.fill, Ring.check

    def note_fill(ring, slots, seeds):
        filled.extend(seeds.tolist())
        fill(ring, slots, seeds)

    def note_check(ring, slots, seeds, header=0):
        checked.extend(seeds.tolist())
        check(ring, slots, seeds, header)

    monkeypatch.setattr(Ring, "fill", note_fill)
    monkeypatch.setattr(Ring, "check", note_check)
    outcome = measure(case(*those))
    assert outcome.problem is None
    assert outcome.verified == len(checked)
    assert len(set(filled)) == len(filled)
    if those[0] != "udp":
        # One buffer goes to and fro: what is sent back is checked at both ends.
        twice = those[1:3] == ("pingpong", "same")
        assert sorted(checked) == sorted(filled * (2 if twice else 1))
    else:
        assert set(checked) <= set(filled)
        assert len(set(checked)) == len(checked) > 0


@pytest.mark.parametrize("those", CASES)
@pytest.mark.parametrize("victim", [0, 20, 77])
def test_one_wrong_byte_in_one_message_is_found(those, victim, monkeypatch):
    fill = Ring.fill

    def spoil(ring, slots, seeds):
        fill(ring, slots, seeds)
        (at,) = np.nonzero((seeds & ((1 << 48) - 1)) == victim)
        if at.size:
            ring.region[slots[at[0]] * 8192 + 5000] ^= 0x10

    monkeypatch.setattr(Ring, "fill", spoil)
    outcome = measure(case(*those))
    assert outcome.problem.startswith(("rank 0: byte 5000 is 0x", "rank 1: byte 5000 is 0x"))
