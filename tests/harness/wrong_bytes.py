"""A rank that sends a wrong byte, and what has to be found then."""

from halftrip.results.patterns import SHAPES

_SPOIL = """
from halftrip.memory.ring import Ring
fill = Ring.fill
def spoil(self, slots, seeds):
    fill(self, slots, seeds)
    if self._configuration.size > {offset}:
        sent = slots[seeds >> 48 == {rank}]
        self.region.bytes[sent * self._layout.stride + {offset}] ^= 0x40
Ring.fill = spoil
"""


def spoiled(shell, rank, offset):
    """An environment in which the byte at `offset` of every message that `rank` sends is not what
    it should be."""
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
