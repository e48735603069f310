"""Which pairs of ranks talk when."""

from __future__ import annotations

from typing import Literal

from halftrip.errors import UsageError

Pairs = Literal["halves", "neighbours", "all"]
Pair = tuple[int, int]


def rounds(ranks: int, pairs: Pairs, at_once: int | None = None) -> list[tuple[Pair, ...]]:
    """The pairs, lower rank first, that talk at the same time, round after round.

    ``halves``: i with i + ranks / 2; ``neighbours``: i with i ^ 1; ``all``: each rank with each
    other rank once; if their number is odd, one rank rests in each round. No rank is twice in a
    round, and no round has more than `at_once` pairs (None: no limit).

    Raises UsageError if this number of ranks cannot form these pairs, or if `at_once` is below 1.
    """
    if at_once is not None and at_once < 1:
        raise UsageError(f"{at_once} pairs at once is too few; at least 1")
    if ranks < 2:
        raise UsageError(f"{ranks} ranks cannot form {pairs}; at least 2 are needed")
    if pairs == "all":
        unlimited = _all_pairs(ranks)
    elif ranks % 2:
        raise UsageError(f"{ranks} ranks cannot form {pairs}; an even number is needed")
    elif pairs == "halves":
        half = ranks // 2
        unlimited = [[(rank, rank + half) for rank in range(half)]]
    else:
        unlimited = [[(rank, rank + 1) for rank in range(0, ranks, 2)]]
    most = at_once or ranks
    return [
        tuple(round_[start : start + most])
        for round_ in unlimited
        for start in range(0, len(round_), most)
    ]


def _all_pairs(ranks: int) -> list[list[Pair]]:
    """The rounds in which each rank meets each other rank once, by the circle method of round-robin
    tournaments (Lucas, Recreations mathematiques, 1883).

    One rank stays in the centre while the others turn around it: no schedule has fewer rounds. With
    an odd number of ranks the centre is empty, and the rank that would meet it rests.
    """
    turning = ranks - 1 + ranks % 2
    schedule: list[list[Pair]] = []
    for turn in range(turning):
        pairs = [(turn, turning)] if ranks % 2 == 0 else []
        for apart in range(1, (turning + 1) // 2):
            one, other = (turn - apart) % turning, (turn + apart) % turning
            pairs.append((min(one, other), max(one, other)))
        schedule.append(sorted(pairs))
    return schedule
