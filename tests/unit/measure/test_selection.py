"""Which configurations are refused, for which reason, and the records that say so."""

from types import SimpleNamespace

import msgspec
import pytest

from halftrip.measure import selection
from halftrip.measure.selection import Refusal, refusal, skips
from halftrip.measure.setup import Setup
from halftrip.memory.host import HOST
from halftrip.memory.ring import layout
from halftrip.plan.configurations import PartPlans
from halftrip.plan.plan import Plan
from halftrip.results.configuration import EndSettings
from halftrip.results.records import Skip
from halftrip.transports.capabilities import Capabilities
from harness.bench import pair
from harness.runs import configuration

SIZE = 1 << 20
MIB = 1 << 20


class Agreeing:
    """The link to a peer that refuses nothing."""

    def agree(self, step):
        step()


PATTERNS = {"blocking": ("pingpong",)}


def refused(the_configuration, rank=0, hosts=("a", "a"), plan=None, missing=None, **fields):
    """Why a rank refuses a configuration, or None; it uses these parts of a Setup and of a Pair."""
    transport = SimpleNamespace(
        capabilities=Capabilities(patterns=PATTERNS, waits=("spin",)),
        missing=lambda context: missing,
        refuses=lambda configuration: None,
        obstacle=lambda configuration, context: None,
    )
    setup = SimpleNamespace(
        plan=plan or Plan(),
        plans=PartPlans(plan or Plan(), {}),
        group=SimpleNamespace(rank=rank),
        hosts=hosts,
        transport=lambda configuration: transport,
        buffer_bytes=buffer_bytes,
    )
    own = SimpleNamespace(link=Agreeing(), context=pair(rank, **fields))
    return refusal(setup, own, the_configuration)


def buffer_bytes(the_configuration, initiates):
    parts = SimpleNamespace(layout=lambda configuration: layout(configuration, MIB))
    return Setup.buffer_bytes(parts, the_configuration, initiates)


# How many MiB the buffers of one configuration need on a host.
NEEDS = [
    # Two ends, each with a buffer to send from and one to receive into.
    (configuration(size=SIZE), ("a", "a"), 4),
    # One end is elsewhere.
    (configuration(size=SIZE), ("a", "b"), 2),
    (configuration(size=SIZE, buffers="same"), ("a", "a"), 2),
    # A one-sided pattern exposes memory, too.
    (configuration(size=SIZE, pattern="put", mode="onesided"), ("a", "a"), 6),
    # One at each end for each message of a window, and one of the other kind.
    (configuration(size=SIZE, pattern="stream", window=64, places="own"), ("a", "a"), 2 * 65),
    # Pairs that talk at the same time need their buffers at once.
    (msgspec.structs.replace(configuration(size=SIZE), concurrency=3), ("a", "a"), 12),
]


@pytest.mark.parametrize(("the_configuration", "hosts", "needed"), NEEDS)
def test_a_configuration_is_skipped_where_its_buffers_do_not_fit(
    monkeypatch, the_configuration, hosts, needed
):
    monkeypatch.setattr(HOST, "available", lambda: needed * MIB)
    assert refused(the_configuration, hosts=hosts) is None
    monkeypatch.setattr(HOST, "available", lambda: needed * MIB - 1)
    said = f"buffers need {needed} MiB on one host, and less is left"
    assert refused(the_configuration, hosts=hosts) == said


class OtherMemory:
    """A kind of memory that has no huge pages."""

    def missing(self, pages):
        return "no huge pages of this kind" if pages == "huge" else None

    def available(self):
        return 1 << 40


@pytest.mark.parametrize("end", ["initiator", "responder"])
def test_each_end_s_own_memory_and_pages_count(monkeypatch, end):
    """The rank of the other end has no say in it."""
    memories = {"host": HOST, "other": OtherMemory()}
    monkeypatch.setattr(selection, "memory_named", memories.__getitem__)
    monkeypatch.setattr(selection, "is_of_host", lambda name: name == "host")
    monkeypatch.setattr(HOST, "missing", lambda pages: None)
    the_configuration = configuration(
        **{end: EndSettings(wait="spin", memory="other", pages="huge")}
    )
    reasons = [refused(the_configuration, rank=rank) for rank in (0, 1)]
    refusing = ["initiator", "responder"].index(end)
    assert reasons[refusing] == "no huge pages of this kind"
    assert reasons[1 - refusing] is None


# What there is.


def test_a_transport_that_is_missing_or_was_not_built_refuses_every_configuration(monkeypatch):
    assert refused(configuration(), missing="no MPI here") == "no MPI here"
    monkeypatch.setitem(globals(), "PATTERNS", {})
    assert refused(configuration()) == "not in this build of halftrip"


# What a plan asks for.


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (
            {"no_segment": "the ranks are on different hosts", "shares_core": False},
            "the ranks are on different hosts",
        ),
        ({}, "the ranks share a core"),
    ],
)
def test_without_round_trips_there_is_no_placement_state(fields, reason):
    plan = Plan(placement_state="near")
    said = f"--placement-state: no core-to-core round trip: {reason}"
    assert refused(configuration(), plan=plan, **fields) == said
    # Virtual time has its own, and without the option none is needed.
    assert refused(configuration("simulated"), plan=plan, **fields) is None
    assert refused(configuration(), **fields) is None


def test_a_window_that_takes_too_long_is_refused():
    slow = configuration("udp", pattern="stream", window=1000, size=1000, rate=1e4)
    assert refused(slow, plan=Plan(time=9.0)).startswith("a window of 1000 takes 100 s")
    assert refused(slow, plan=Plan(time=11.0)) is None


# The records.

SETTINGS = [
    configuration(transport, size, pattern=pattern)
    for transport in ("shm", "tcp")
    for pattern in ("pingpong", "bidirectional")
    for size in (1, 2, 3)
]


def skipped(*refused, pairs=1):
    """The skips where these were refused, each a transport, a reason, and fields of
    configurations."""
    refusals = [
        Refusal(msgspec.structs.replace(each, pair=between), reason)
        for transport, reason, chosen, betweens in refused
        for between in betweens
        for each in SETTINGS
        if each.transport == transport and chosen(each)
    ]
    return skips(refusals, SETTINGS, pairs)


def test_a_skip_names_windows_where_its_pattern_has_others():
    windows = {"pingpong": (1,), "stream": (1, 64)}
    settings = [
        configuration("tcp", 8, pattern=pattern, window=window)
        for pattern, several in windows.items()
        for window in several
    ]

    def skip_of(chosen):
        refusals = [Refusal(each, "too many") for each in settings if chosen(each)]
        (skip,) = skips(refusals, settings, 1)
        return skip.patterns, skip.windows

    assert skip_of(lambda each: each.window == 64) == (["stream"], [64])
    assert skip_of(lambda each: each.pattern == "stream") == (["stream"], None)
    assert skip_of(lambda each: True) == (None, None)


@pytest.mark.parametrize(
    ("refused", "expected"),
    [
        ([("shm", "no memory", lambda each: True)], [Skip(transport="shm", reason="no memory")]),
        (
            [("tcp", "no such", lambda each: each.pattern == "pingpong")],
            [Skip(transport="tcp", reason="no such", patterns=["pingpong"])],
        ),
        (
            [
                ("shm", "too small", lambda each: each.size < 2),
                ("tcp", "too small", lambda each: each.size < 3),
                ("tcp", "too large", lambda each: each.size > 2),
            ],
            [
                Skip(transport="shm", reason="too small", sizes=[1]),
                Skip(transport="tcp", reason="too small", sizes=[1, 2]),
                Skip(transport="tcp", reason="too large", sizes=[3]),
            ],
        ),
        ([], []),
    ],
)
def test_each_transport_and_each_reason_has_its_record(refused, expected):
    """It names what it has and others have not."""
    assert skipped(*((*each, [(0, 1)]) for each in refused)) == expected


def test_pairs_are_named_where_others_are_left():
    refused = ("shm", "different hosts", lambda configuration: True, [(1, 2), (0, 3)])
    (some,) = skipped(refused, pairs=3)
    assert some.pairs == [(0, 3), (1, 2)]
    (all_of_them,) = skipped(refused, pairs=2)
    assert all_of_them.pairs is None
