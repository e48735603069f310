"""Which pairs of ranks talk when."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from itertools import chain
from typing import Literal

from halftrip.errors import UsageError

Pairing = Literal["halves", "neighbours", "reciprocal", "all", "across", "congestion"]
# How many pairs talk at the same time at most; all that can, or all that share no cache.
Together = Literal["all", "caches"]
AtOnce = int | Together
# The initiator's rank, and the responder's.
Pair = tuple[int, int]
# A rule, or the pairs themselves.
Pairs = Pairing | tuple[Pair, ...]
# With these rules, each rank has one partner, so that their number is even.
_ONE_PARTNER = ("halves", "neighbours", "reciprocal")


class Schedule:
    """Who talks to whom in which round. A rank works out its own partner; nothing that is kept
    grows with the number of pairs, but where these are listed.

    ``halves``: i with i + ranks / 2; ``neighbours``: i with i ^ 1; ``reciprocal``: likewise, then
    the same pairs with the other rank as initiator, so that each rank reports; ``all``: each rank
    with each other rank once; if their number is odd, one rank rests in each round; ``across``:
    likewise, but only with ranks of other hosts; some rounds may be empty. Otherwise the lower rank
    initiates. Listed pairs talk in the first round in which both ranks are free. No rank is twice
    in a round, and no round has more than `at_once` pairs; with ``caches``, no round has two pairs
    that share one of the `caches`, which are by rank (empty: all ranks share one). `hosts`, by
    rank, is needed for ``across``. Ranks that are `absent` rest, as do those that would talk with
    them.

    Raises UsageError if this number of ranks cannot form these pairs, or if `at_once` is below 1.
    """

    rounds: int

    def __init__(
        self,
        ranks: int,
        pairs: Pairs,
        at_once: AtOnce = "all",
        hosts: Sequence[str] = (),
        absent: Collection[int] = (),
        caches: Sequence[Collection[Hashable]] = (),
    ) -> None:
        if isinstance(at_once, int) and at_once < 1:
            raise UsageError(f"{at_once} concurrent pairs is too few; at least 1")
        _check(ranks, pairs)
        self._ranks = ranks
        self._pairs = pairs
        self._hosts = hosts
        self._absent = frozenset(absent)
        self._listed: list[list[Pair]] = []
        if at_once == "caches":
            every = Schedule(ranks, pairs, "all", hosts)
            rounds = (every.pairs_of(number) for number in range(every.rounds))
            # Most pairs are of two caches: those of one fill what is left.
            apart = caches or [("all",)] * ranks
            ordered = [*chain.from_iterable(rounds)]
            ordered.sort(key=lambda pair: not {*apart[pair[0]]}.isdisjoint(apart[pair[1]]))
            self._listed = _fill_rounds(ordered, "all", apart)
        elif not isinstance(pairs, str):
            self._listed = _fill_rounds(pairs, at_once)
        turns, slots = self._turns_and_slots()
        self._at_once = min(at_once, slots) if isinstance(at_once, int) else slots
        # A turn with more pairs than may talk at once becomes several rounds.
        self._parts = -(-slots // self._at_once)
        self.rounds = turns * self._parts

    @property
    def most_at_once(self) -> int:
        """How many pairs talk at the same time, at most."""
        return self._at_once

    @property
    def pairs_in_all(self) -> int:
        """How many pairs there are, at most."""
        turns, slots = self._turns_and_slots()
        return sum(map(len, self._listed)) if self._listed else turns * slots

    def _turns_and_slots(self) -> tuple[int, int]:
        """How many turns there are without a limit, and the places for pairs in each."""
        if self._listed:
            return len(self._listed), max(map(len, self._listed))
        if self._pairs in _ONE_PARTNER:
            return 2 if self._pairs == "reciprocal" else 1, self._ranks // 2
        return _turning(self._ranks), self._ranks // 2

    def pair_of(self, rank: int, round_: int) -> Pair | None:
        """The pair in which a rank talks in a round; None where it rests."""
        turn, part = divmod(round_, self._parts)
        if self._listed:
            return next((pair for pair in self.pairs_of(round_) if rank in pair), None)
        slot = self._slot_of(rank, turn)
        if slot is None or slot // self._at_once != part:
            return None
        return self._present(self._pair_at(turn, slot))

    def pairs_of(self, round_: int) -> list[Pair]:
        """All pairs of a round, in the order of their initiators."""
        return [pair for pair in self._planned(round_) if self._present(pair)]

    def _planned(self, round_: int) -> list[Pair]:
        """The same with those of absent ranks."""
        turn, part = divmod(round_, self._parts)
        if self._listed:
            return self._listed[turn]
        _, slots = self._turns_and_slots()
        first = part * self._at_once
        places = range(first, min(first + self._at_once, slots))
        return sorted(pair for slot in places if (pair := self._pair_at(turn, slot)) is not None)

    def _present(self, pair: Pair | None) -> Pair | None:
        """The pair, unless one of its ranks is absent."""
        return None if pair is None or not self._absent.isdisjoint(pair) else pair

    def count(self, round_: int) -> int:
        """How many pairs talk in a round, those of absent ranks included: a pair is the same row
        whoever else is there."""
        if self._listed or self._pairs == "across":
            return len(self._planned(round_))
        _, slots = self._turns_and_slots()
        return min(self._at_once, slots - round_ % self._parts * self._at_once)

    def is_empty(self, round_: int) -> bool:
        """Whether nobody talks in a round."""
        return (self._pairs == "across" or bool(self._absent)) and not self.pairs_of(round_)

    def partners(self) -> int:
        """Of how many pairs a rank is one in the course of all rounds, at most."""
        return self.rounds // self._parts

    def _slot_of(self, rank: int, turn: int) -> int | None:
        if self._pairs == "halves":
            return rank % (self._ranks // 2)
        if self._pairs in ("neighbours", "reciprocal"):
            return rank // 2
        turning = _turning(self._ranks)
        apart = (rank - turn) % turning if rank < turning else 0
        apart = min(apart, turning - apart)
        if self._ranks % 2:
            return apart - 1 if apart else None
        return apart

    def _pair_at(self, turn: int, slot: int) -> Pair | None:
        """The pair at one place of a turn; None where its ranks are on one host and may not be.

        All pairs meet by the circle method of round-robin tournaments (Lucas, Recreations
        mathematiques, 1883): one rank stays in the centre while the others turn around it; no
        schedule has fewer rounds. With an odd number of ranks the centre is empty, and the rank
        that would meet it rests.
        """
        half = self._ranks // 2
        if self._pairs == "halves":
            return slot, slot + half
        if self._pairs in ("neighbours", "reciprocal"):
            even, odd = 2 * slot, 2 * slot + 1
            return (even, odd) if turn == 0 else (odd, even)
        turning = _turning(self._ranks)
        apart = slot + self._ranks % 2
        one, other = (turn - apart) % turning, (turn + apart) % turning
        if not apart:
            other = turning
        pair = min(one, other), max(one, other)
        if self._pairs == "across" and self._hosts[pair[0]] == self._hosts[pair[1]]:
            return None
        return pair


class Schedules:
    """One schedule after the other, each with a limit of its own on the pairs that talk at the same
    time: their rounds are numbered through. Limits that make the same rounds share a schedule.
    Raises what Schedule does."""

    def __init__(
        self,
        ranks: int,
        pairs: Pairs,
        limits: Sequence[AtOnce] = ("all",),
        hosts: Sequence[str] = (),
        absent: Collection[int] = (),
        caches: Sequence[Collection[Hashable]] = (),
    ) -> None:
        # By how many pairs talk at the same time at most.
        self._schedules: dict[AtOnce, Schedule] = {}
        self._of_limit: dict[AtOnce, AtOnce] = {}
        for limit in limits:
            schedule = Schedule(ranks, pairs, limit, hosts, absent, caches)
            key = limit if limit == "caches" else schedule.most_at_once
            self._of_limit[limit] = key
            self._schedules.setdefault(key, schedule)
        self.rounds = sum(each.rounds for each in self._schedules.values())

    @property
    def pairs_in_all(self) -> int:
        """How many pairs there are, at most."""
        return self._any.pairs_in_all

    def rounds_of(self, limits: Sequence[AtOnce]) -> list[int]:
        """The numbers of the rounds of these limits in which some talk, in order. Of rounds with
        the same pairs there is one."""
        wanted = {self._of_limit[limit] for limit in limits}
        found: list[int] = []
        seen: set[tuple[Pair, ...]] = set()
        first = 0
        for most, schedule in self._schedules.items():
            numbers = range(schedule.rounds if most in wanted else 0)
            for number in numbers:
                if schedule.is_empty(number):
                    continue
                if len(wanted) > 1:
                    pairs = tuple(schedule.pairs_of(number))
                    if pairs in seen:
                        continue
                    seen.add(pairs)
                found.append(first + number)
            first += schedule.rounds
        return found

    def pair_of(self, rank: int, round_: int) -> Pair | None:
        """The pair in which a rank talks in a round; None where it rests."""
        schedule, number = self._at(round_)
        return schedule.pair_of(rank, number)

    def pairs_of(self, round_: int) -> list[Pair]:
        """All pairs of a round, in the order of their initiators."""
        schedule, number = self._at(round_)
        return schedule.pairs_of(number)

    def count(self, round_: int) -> int:
        """How many pairs talk in a round."""
        schedule, number = self._at(round_)
        return schedule.count(number)

    def partners(self) -> int:
        """Of how many pairs a rank is one in the course of all rounds, at most."""
        return self._any.partners()

    @property
    def _any(self) -> Schedule:
        """One of them: all have the same pairs."""
        return next(iter(self._schedules.values()))

    def _at(self, round_: int) -> tuple[Schedule, int]:
        """The schedule that a round belongs to, and its number in it."""
        for schedule in self._schedules.values():
            if round_ < schedule.rounds:
                return schedule, round_
            round_ -= schedule.rounds
        raise IndexError(f"there is no round {round_}")


def _turning(ranks: int) -> int:
    return ranks - 1 + ranks % 2


def _check(ranks: int, pairs: Pairs) -> None:
    if isinstance(pairs, str):
        if pairs == "congestion":
            # With hosts, `plan.congestion` has made pairs of it.
            raise UsageError("congestion is between three hosts or more; name them with --hosts")
        if ranks < 2:
            raise UsageError(f"{ranks} ranks cannot form {pairs}; at least 2 are needed")
        if pairs in _ONE_PARTNER and ranks % 2:
            what = "reciprocal pairs" if pairs == "reciprocal" else pairs
            raise UsageError(f"{ranks} ranks cannot form {what}; an even number is needed")
        return
    highest = max(max(pair) for pair in pairs)
    if highest >= ranks:
        raise UsageError(f"there is no rank {highest}: {ranks} ranks are 0 to {ranks - 1}")


def _fill_rounds(
    pairs: Sequence[Pair], at_once: AtOnce, apart: Sequence[Collection[Hashable]] = ()
) -> list[list[Pair]]:
    """The pairs, each in the first round in which both its ranks are free, and so is all that each
    of them has `apart`, by rank."""
    rounds: list[list[Pair]] = []
    # The numbers of rounds, as bits: in which all that a pair takes is busy, and which are full.
    busy: dict[Hashable, int] = {}
    full = 0
    for pair in pairs:
        taken: set[Hashable] = {*pair}
        if apart:
            taken |= {("apart", each) for rank in pair for each in apart[rank]}
        used = full
        for each in taken:
            used |= busy.get(each, 0)
        bit = ~used & (used + 1)
        number = bit.bit_length() - 1
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(pair)
        for each in taken:
            busy[each] = busy.get(each, 0) | bit
        if len(rounds[number]) == at_once:
            full |= bit
    return rounds
