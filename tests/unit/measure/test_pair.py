"""Two ranks that talk: paths are opened once for each way to wait, or refused at both ends; sides
of configurations stay open while there is room."""

import numpy as np
import pytest

from halftrip.errors import Unavailable
from halftrip.measure.batch_runner import BatchRunner
from halftrip.measure.pair import PairEnd
from halftrip.results.configuration import EndSettings
from halftrip.transports.base import Endpoint, Path, Timed, Transport
from halftrip.transports.capabilities import Capabilities
from harness.bench import AMPLE_BYTES, pair, process, set_up
from harness.groups import on_two_ranks
from harness.runs import configuration


class NotedEndpoint(Endpoint):
    """An endpoint that notes when it is opened and closed."""

    def __init__(self, notes, size, fails):
        self._notes = notes
        self._size = size
        self._fails = fails
        self._notes.append(("open", size))
        self.address = size

    def connect(self, address):
        if self._fails == "side":
            raise OSError(12, "Cannot allocate memory")

    def run(self, warm_up, iterations, samples):
        return Timed(np.full(samples, 1000, dtype=np.int64))

    def close(self):
        self._notes.append(("close", self._size))


class NotedPath(Path):
    """A path that notes the calls it gets; with `fails`, it cannot connect."""

    def __init__(self, notes, rank, fails):
        self.address = {"rank": rank}
        self.notes = notes
        self._fails = fails

    def connect(self, address):
        self.notes.append(("connect", address["rank"]))
        if self._fails == "connect":
            raise OSError(111, "Connection refused")

    def endpoint(self, configuration, buffers):
        if self._fails == "endpoint":
            raise OSError(24, "Too many open files")
        return NotedEndpoint(self.notes, configuration.size, self._fails)

    def close(self):
        self.notes.append("close")


class NotedTransport(Transport):
    capabilities = Capabilities(
        patterns={"blocking": ("pingpong",)}, waits=("spin", "block"), shares_memory=True
    )

    def __init__(self, rank, fails=None):
        super().__init__(process(rank))
        self.fails = fails
        self.notes = []
        self.waits = []

    def missing(self, pair):
        return "there is none at rank 1" if self.fails == "missing" else None

    def path(self, pair, settings):
        self.waits.append(settings.wait)
        if self.fails == "path":
            raise Unavailable("no path")
        return NotedPath(self.notes, self.process.rank, self.fails)


def on_pair(take_part, fails=None, failing=None, budget=AMPLE_BYTES, **context):
    """Calls `take_part(rank, pair, transport)` at both ends of a pair, whose transport fails as
    `fails` says at the rank `failing`; what each returned."""

    def at_rank(rank, group):
        transport = NotedTransport(rank, fails if rank == failing else None)
        setup = set_up(group, {"noted": transport})
        own = PairEnd(setup, pair(rank, **context), budget)
        return take_part(rank, own, transport)

    return on_two_ranks(at_rank)


def waits(initiator, responder):
    ends = (EndSettings(wait=wait) for wait in (initiator, responder))
    return configuration("noted", **dict(zip(("initiator", "responder"), ends, strict=True)))


# Paths.


def test_configurations_that_wait_alike_at_both_ends_share_a_path(monkeypatch):
    order = []
    monkeypatch.setattr(
        NotedPath, "connect", lambda path, address: order.append((path.address, address))
    )

    def take_part(rank, own, transport):
        alike = [own.path(waits("spin", "block")) for _ in range(2)]
        others = [own.path(waits(*each)) for each in (("block", "spin"), ("spin", "spin"))]
        assert alike[0] is alike[1]
        assert len({id(path) for path in (*alike, *others)}) == 3
        own.close()
        return transport.waits, transport.notes.count("close")

    # Each end has its own way to wait.
    assert on_pair(take_part) == [(["spin", "block", "spin"], 3), (["block", "spin", "spin"], 3)]
    # The responder connects first, and each end gets the other's address.
    assert order == [({"rank": 1}, {"rank": 0}), ({"rank": 0}, {"rank": 1})] * 3


@pytest.mark.parametrize("failing", [0, 1])
@pytest.mark.parametrize(
    ("step", "reason"), [("path", "no path"), ("connect", "Connection refused")]
)
def test_a_path_that_cannot_be_opened_is_refused_at_both_ends_and_closed(failing, step, reason):
    def take_part(rank, own, transport):
        for _ in range(2):
            with pytest.raises(Unavailable, match=f"^{reason}$"):
                own.path(waits("spin", "spin"))
        own.close()
        # It is not tried again.
        return len(transport.waits), transport.notes.count("close")

    tried = on_pair(take_part, step, failing)
    made_none = failing if step == "path" else None
    assert tried == [(1, 0 if rank == made_none else 1) for rank in (0, 1)]


# Shared memory.


def test_where_one_end_cannot_map_memory_neither_has_any(monkeypatch):
    def open_offer(offer):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("halftrip.measure.pair.open_offer", open_offer)

    def take_part(rank, own, transport):
        return own.context.segment, own.context.no_segment, own.has_probe and own.probe()

    assert on_pair(take_part) == [(None, "Operation not permitted", False)] * 2
    found = on_pair(take_part, same_host=False)
    assert found == [(None, "the ranks are on different hosts", False)] * 2


# Sides of configurations.

MIB = 1 << 20


def sized(number):
    """A configuration whose buffers take two MiB at each end, and somewhat more."""
    return configuration("noted", MIB + number)


def kept_after(budget_mib, used, drops=()):
    """Which configurations each end has, in the order in which they were used, after these were;
    and what it opened and closed."""

    def take_part(rank, own, transport):
        for number in used:
            side = own.batch_runner(sized(number))
            assert side is own.batch_runner(sized(number))
        for number in drops:
            own.drop(sized(number))
        kept = [each.size - MIB for each in own._runners]
        notes = [(what, size - MIB) for what, size in filter(_is_of_side, transport.notes)]
        own.close()
        # All that was opened has been closed.
        done = list(filter(_is_of_side, transport.notes))
        assert sorted(s for w, s in done if w == "open") == sorted(
            s for w, s in done if w == "close"
        )
        assert transport.notes[-1] == "close"
        return kept, notes

    first, second = on_pair(take_part, budget=budget_mib * MIB)
    # Both ends close the same, at the same time.
    assert first == second
    return first


def _is_of_side(note):
    return note[0] in ("open", "close")


@pytest.mark.parametrize(
    ("room", "used", "drops", "kept", "closed"),
    [
        (100, [1, 2, 3, 1, 2, 3], [], [1, 2, 3], []),
        # One configuration has its side however large it is.
        (1, [1, 2], [], [2], [1]),
        # Room for two.
        (5, [1, 2, 3], [], [2, 3], [1]),
        # A side that is used again is not the oldest any more.
        (5, [1, 2, 1, 3], [], [1, 3], [2]),
        # One that was closed is opened again.
        (5, [1, 2, 3, 1], [], [3, 1], [1, 2]),
        (5, [1, 2, 3, 4, 5, 4], [], [5, 4], [1, 2, 3]),
        # Dropped, or never there.
        (100, [1, 2], [1, 3], [2], [1]),
    ],
)
def test_sides_stay_open_while_there_is_room(room, used, drops, kept, closed):
    """Those that were not used for longest make room."""
    left, notes = kept_after(room, used, drops)
    assert left == kept
    assert [number for what, number in notes if what == "close"] == closed
    opened = [number for what, number in notes if what == "open"]
    assert sorted(opened) == sorted(kept + closed)


@pytest.mark.parametrize("failing", [0, 1])
@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("buffers", "Cannot allocate memory"),
        ("endpoint", "Too many open files"),
        ("side", "Cannot allocate memory"),
    ],
)
def test_a_side_that_one_end_cannot_open_is_refused_at_both_and_closed(
    monkeypatch, failing, step, reason
):
    allocate = BatchRunner.allocate

    def allocate_some(side):
        if step == "buffers" and side._context.initiates == (failing == 0):
            raise OSError(12, "Cannot allocate memory")
        allocate(side)

    monkeypatch.setattr(BatchRunner, "allocate", allocate_some)

    def take_part(rank, own, transport):
        with pytest.raises(Unavailable, match=f"^{reason}$"):
            own.batch_runner(sized(1))
        assert not own._runners
        assert own.path(sized(1)) is own.path(sized(2))
        transport.notes[:] = filter(_is_of_side, transport.notes)
        return [what for what, _ in transport.notes]

    for notes in on_pair(take_part, step, failing):
        assert notes.count("open") == notes.count("close")
