"""Which cases are skipped because their memory is not available, and with which reason."""

from types import SimpleNamespace

import msgspec
import pytest

from halftrip.measure.selection import possible_rounds
from halftrip.memory.host import HOST
from halftrip.memory.layout import layout
from halftrip.plan.plan import Plan
from halftrip.registry import MEMORIES
from halftrip.results.case import CaseEnd
from harness.bench import pair
from harness.runs import case

SIZE = 1 << 20
MIB = 1 << 20


def setup_of(the_case, rank=0, hosts=("a", "a")):
    """The parts of a Setup that a selection uses, at a rank whose peer refuses nothing."""
    return SimpleNamespace(
        plan=Plan(),
        group=SimpleNamespace(rank=rank, allgather=lambda value, kind: [value, {}]),
        hosts=hosts,
        missing={the_case.transport: {}},
        layout=lambda case: layout(case, MIB),
        connection=lambda case: SimpleNamespace(member=True, pair=pair(rank)),
        transport=lambda case: SimpleNamespace(refuses=lambda case: None),
    )


def reason(the_case, **place):
    """Why a case is skipped, or None."""
    kept, skips = possible_rounds(setup_of(the_case, **place), [(the_case,)])
    assert kept == ([] if skips else [(the_case,)])
    return skips[0].reason if skips else None


# How many MiB the buffers of one case need on a host.
NEEDS = [
    # Two ends, each with a buffer to send from and one to receive into.
    (case(size=SIZE), ("a", "a"), 4),
    # One end is elsewhere.
    (case(size=SIZE), ("a", "b"), 2),
    (case(size=SIZE, buffers="same"), ("a", "a"), 2),
    # A one-sided pattern exposes memory, too.
    (case(size=SIZE, pattern="put", mode="onesided"), ("a", "a"), 6),
]


@pytest.mark.parametrize(("the_case", "hosts", "needed"), NEEDS)
def test_a_case_is_skipped_where_its_buffers_do_not_fit(monkeypatch, the_case, hosts, needed):
    monkeypatch.setattr(HOST, "available", lambda: needed * MIB)
    assert reason(the_case, hosts=hosts) is None
    monkeypatch.setattr(HOST, "available", lambda: needed * MIB - 1)
    said = f"buffers need {needed} MiB on one host, where {needed - 1} MiB are left"
    assert reason(the_case, hosts=hosts) == said


def test_pairs_that_talk_at_the_same_time_need_their_buffers_at_once(monkeypatch):
    pairs = msgspec.structs.replace(case(size=SIZE), concurrency=3)
    monkeypatch.setattr(HOST, "available", lambda: 11 * MIB)
    _, (skip,) = possible_rounds(setup_of(pairs), [(pairs,)])
    assert skip.reason == "buffers need 12 MiB on one host, where 11 MiB are left"


class OtherMemory:
    """A kind of memory that has no huge pages."""

    def missing(self, pages):
        return "no huge pages of this kind" if pages == "huge" else None

    def available(self):
        return 1 << 40


@pytest.mark.parametrize("end", ["initiator", "responder"])
def test_each_end_s_own_memory_and_pages_count(monkeypatch, end):
    """The rank of the other end has no say in it."""
    monkeypatch.setattr(MEMORIES, "load", {"host": HOST, "other": OtherMemory()}.get)
    monkeypatch.setattr(HOST, "missing", lambda pages: None)
    the_case = case(**{end: CaseEnd(wait="spin", memory="other", pages="huge")})
    reasons = [reason(the_case, rank=rank) for rank in (0, 1)]
    refusing = ["initiator", "responder"].index(end)
    assert reasons[refusing] == "no huge pages of this kind"
    assert reasons[1 - refusing] is None
