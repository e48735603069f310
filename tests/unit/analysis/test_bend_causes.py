"""What causes a bend: a threshold that is planted where a curve bends is named, one beside it is
not, and of several all are."""

import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.analysis.bend_causes import Candidate, bend_at, causes, moved
from halftrip.analysis.bend_kinds import Prediction, predictions
from halftrip.analysis.fit import Bend, Piece, Pieces, PiecewiseFit, StraightLine
from halftrip.results.configuration import Tuning
from halftrip.results.records import Launch
from halftrip.results.threshold import Threshold
from halftrip.stats.estimate import Estimate
from harness.files import ROOT, module
from harness.runs import configuration, environment, run

causes_page = module("scripts/causes_page.py")
named_bends = module("benchmarks/named_bends.py")

STEP = Estimate(1.4, 1.3, 1.5)
CURVE = configuration("mpi", 0)
EAGER = Threshold(
    name="the eager limit", value=4096, header=64, acts="protocol", source="MPI_T",
    setting="OMPI_MCA_eager", transport="mpi", same_host=True,
)  # fmt: skip
PAGE = Threshold(name="the page", value=4096, acts="page", source="sysconf")
L2 = Threshold(name="the L2 cache", value=512 << 10, acts="cache", source="sysfs", cores=[0])
L3 = Threshold(name="the L3 cache", value=32 << 20, acts="cache", source="sysfs", cores=[0, 1])
MTU = Threshold(
    name="the MTU", value=1500, header=28, acts="pieces", source="IP_MTU", transport="udp",
    same_host=False,
)  # fmt: skip


def bend(low, high, kind="jump"):
    return Bend(low, high, kind, STEP)


def fit(*bends, curve=CURVE):
    return PiecewiseFit(curve, "slices", Pieces((), bends, ()))


def named(thresholds, *bends, curve=CURVE, **changes):
    """The names of the causes of each bend, the likeliest first."""
    (found,) = causes(run(thresholds=tuple(thresholds), **changes), [fit(*bends, curve=curve)])
    return [[each.threshold.name for each in of.candidates] for of in found.bends]


@given(
    value=st.integers(1000, 1 << 30), header=st.integers(0, 99), off=st.integers(1, 10**6),
    below=st.integers(0, 1000), above=st.integers(1, 10**6),
)  # fmt: skip
def test_a_threshold_within_a_bend_is_named_and_one_beside_it_is_not(
    value, header, off, below, above
):
    threshold = msgspec.structs.replace(EAGER, value=value, header=header)
    place = value - header // 2
    within = bend(max(0, place - below), place + min(above, 1000))
    assert named([threshold], within) == [[threshold.name]]
    first, last = value + off, value - header
    assert named([threshold], bend(first, first + above)) == [[]]
    assert named([threshold], bend(max(0, last - above), last)) == [[]]


def test_which_of_several_comes_first():
    other = msgspec.structs.replace(EAGER, name="the fast box", value=3000, header=0)
    # That of the transport.
    names = ["the eager limit", "the fast box", "the page"]
    assert named([PAGE, other, EAGER], bend(2048, 8192)) == [names]
    # A jump is sooner a protocol than a cache, though the middle of what that predicts is nearer.
    place = (150_000, 260_000)
    vague = {"value": 200_000, "header": 150_000, "transport": "", "same_host": None}
    both = [L2, msgspec.structs.replace(EAGER, **vague)]
    assert named(both, bend(*place)) == [["the eager limit", "the L2 cache"]]
    assert named(both, bend(*place, "slope"))[0][0] == "the L2 cache"
    # A threshold of unknown value comes last, before neither a cache of that very size nor what is
    # known exactly.
    unknown = msgspec.structs.replace(EAGER, name="what UCX chooses", value=0)
    found = named([unknown, L2, EAGER], bend(200_000, 260_000, "slope"))
    assert found == [["the L2 cache", "what UCX chooses"]]
    assert named([unknown, EAGER], bend(4000, 4200)) == [["the eager limit", "what UCX chooses"]]


@pytest.mark.parametrize(
    "other",
    [
        {"transport": "tcp"},
        {"same_host": False},
        {"rank": 2},
        {"tuning": Tuning(socket_buffer=1 << 16)},
        {"launch": 1},
    ],
)
def test_what_belongs_to_others_is_not_offered(other):
    launches = tuple(
        Launch(number=number, round=0, variant=variant)
        for number, variant in enumerate([(), (("env.X", "1"),)])
    )
    threshold = msgspec.structs.replace(EAGER, **other)
    assert named([threshold], bend(4000, 4200), launches=launches) == [[]]


BENDS = bend(4000, 4200), bend(100_000, 600_000, "slope"), bend(4 << 20, 32 << 20, "slope")


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        # A page makes no jump.
        ({}, ["the eager limit"]),
        # What MPI does with messages it does not do with windows.
        ({"pattern": "put", "mode": "onesided"}, []),
        # Of buffers in memory of a device, the protocol alone is a cause.
        ({"memory": "cuda@0"}, ["the eager limit"]),
    ],
)
def test_a_protocol_and_a_page_of_mpi(fields, found):
    curve = configuration("mpi", 0, **fields)
    assert named([EAGER, PAGE], BENDS[0], curve=curve) == [found]


@pytest.mark.parametrize(
    ("transport", "fields"),
    [
        ("simulated", {}),
        ("shm", {"cache": "cold", "pages": "huge"}),
        ("shm", {"verify": True, "pages": "huge"}),
        ("cuda-ipc", {"memory": "cuda@0:cuda@1"}),
        ("nccl", {"memory": "cuda@0:cuda@1"}),
    ],
)
def test_no_cache_or_page_bends_a_curve_whose_buffers_are_in_none(transport, fields):
    curve = configuration(transport, 0, **fields)
    assert named([PAGE, L2, L3], *BENDS, curve=curve) == [[], [], []]


STREAM = {"pattern": "stream", "window": 64}
STAGED = {"memory": "cuda@0:host", "staging": 0}


@pytest.mark.parametrize(
    ("cache", "fields", "buffers"),
    [
        # A buffer to send from, and one to receive into.
        (L2, {}, 2),
        (L2, {"buffers": "same"}, 1),
        # Both ends share it, and with other programs.
        (L3, {}, 4),
        (L3, {"buffers": "same"}, 2),
        # An end of a stream only sends, or only receives.
        (L2, STREAM | {"places": "own"}, 64),
        (L2, STREAM | {"places": "same"}, 1),
        (L2, {"datatype": "vector"}, 4),
        # Those in the host, and what is staged there.
        (L3, {"memory": "cuda@0:host"}, 2),
        (L3, {"memory": "cuda@0", "staging": 0}, 2),
        (L3, STAGED, 3),
        (L3, STAGED | {"pattern": "stream", "window": 8, "places": "own"}, 1 + 8),
        (L3, {"memory": "cuda@0", "staging": 0, "pattern": "bidirectional",
              "mode": "nonblocking"}, 4),
        (L3, {"memory": "cuda@0", "staging": 16 << 20}, 2),
        # Chunks of a long message take no more room than those of a shorter one.
        (L3, {"memory": "cuda@0", "staging": 512 << 10}, None),
    ],
)  # fmt: skip
def test_a_cache_holds_the_buffers_of_all_ends_that_share_it(cache, fields, buffers):
    curve = configuration("mpi", 0, **fields)
    found = predictions(cache, curve, [environment(0), environment(1)])
    high = [] if buffers is None else [cache.value / buffers]
    assert [each.high for each in found] == pytest.approx(high)


def test_of_a_shared_cache_others_may_have_the_most_and_a_pipe_holds_the_window():
    curve, ends = configuration("tcp", 0), (environment(0), environment(1, host="node2", core=0))
    assert list(predictions(L2, curve, ends)) == [Prediction(128 << 10, 256 << 10)]
    # That of another host does not count.
    assert list(predictions(L3, curve, ends)) == [Prediction(4 << 20, 16 << 20)]
    pipe = Threshold(name="the pipe", value=65536, acts="capacity", source="F_GETPIPE_SZ")
    assert list(predictions(pipe, configuration("pipe", 0))) == [Prediction(65535, 65536)]
    windowed = configuration("pipe", 0, pattern="stream", window=16)
    assert list(predictions(pipe, windowed)) == [Prediction(65535 / 16, 4096)]


def test_a_page_is_that_of_the_buffers():
    huge = msgspec.structs.replace(PAGE, name="the huge page", value=2 << 20)
    both = [PAGE, huge]
    for pages, name, size in (("4K", "the page", 4096), ("huge", "the huge page", 2 << 20)):
        curve = configuration("shm", 0, pages=pages)
        assert named(both, bend(4000, 3 << 20, "slope"), curve=curve) == [[name]]
        assert named(both, bend(size - 8, size + 8, "slope"), curve=curve) == [[name]]
    # Of the end in the host.
    of_host = configuration("mpi", 0, memory="cuda@0:host", pages="4K:huge")
    assert named(both, bend(4000, 4200, "slope"), curve=of_host) == [[]]
    assert named(both, bend(2_000_000, 2_200_000, "slope"), curve=of_host) == [["the huge page"]]


def test_what_fills_gradually_makes_no_jump_and_nothing_faster():
    for cause, near, far in ((PAGE, (4000, 4200), (4000, 8000)), (L2, (2e5, 2.1e5), (2e5, 3e5))):
        for kind, place, found in (
            ("jump", near, []), ("jump", far, [cause.name]), ("slope", near, [cause.name]),
        ):  # fmt: skip
            assert named([cause], bend(*place, kind), curve=configuration("mpi", 0)) == [found]
            faster = bend(*place, kind)._replace(step=Estimate(0.7, 0.6, 0.8))
            assert named([cause], faster, curve=configuration("mpi", 0)) == [[]]


def test_what_handles_all_bytes_differently_jumps_where_that_can_be_told():
    near, far = (4000, 4100), (2048, 8192)
    for place, kind, found in (
        (near, "jump", [EAGER.name]), (near, "slope", []), (far, "slope", [EAGER.name]),
    ):  # fmt: skip
        assert named([EAGER], bend(*place, kind)) == [found]
    copy = Threshold(name="memcpy", value=2112, acts="copy", source="", transport="mpi")
    assert named([copy, PAGE], bend(2048, 2160), bend(4000, 4200)) == [["memcpy"], []]


def over(first, last, *bends):
    """The fit of a curve of these sizes with these bends."""
    line = StraightLine(Estimate(1.0), Estimate(1.0))
    starts, ends = [first, *(each.high for each in bends)], [*(each.low for each in bends), last]
    pieces = tuple(Piece(*each, line) for each in zip(starts, ends, strict=True))
    return PiecewiseFit(CURVE, "slices", Pieces(pieces, bends, ()))


# What TCP cuts into segments on loopback, in whole ones: anything up to 64 KiB; and a large buffer.
GSO = Threshold(name="GSO", value=65536, header=65536, acts="pieces", source="", transport="mpi")
BUFFER = Threshold(
    name="the buffer", value=4 << 20, header=3 << 20, acts="capacity", source="", transport="mpi"
)
SMALL = msgspec.structs.replace(BUFFER, value=1 << 16, header=48 << 10)


@pytest.mark.parametrize(
    ("threshold", "place", "found", "by_chance"),
    [
        # 16 of 22 powers of two, whose multiples are two more.
        (GSO, (255, 257), [], 0.0),
        (GSO, (65000, 66000), [], 0.0),
        # Two of 22, which a narrow bend hardly widens.
        (BUFFER, (2_000_000, 2_020_000), ["the buffer"], 2 / 22),
        (BUFFER, (1 << 20, 2 << 20), ["the buffer"], 2 / 21),
        # A wide interval holds anything.
        (SMALL, (1 << 14, 1 << 15), ["the buffer"], 3 / 21),
        (SMALL, (1 << 10, 1 << 15), [], 0.0),
        (EAGER, (4000, 4100), ["the eager limit"], 0.0),
        (EAGER, (2048, 4096), ["the eager limit"], 1 / 21),
        (EAGER, (1024, 8192), ["the eager limit"], 3 / 19),
        (EAGER, (256, 8192), [], 0.0),
    ],
)
def test_a_threshold_that_any_bend_would_have_is_not_named(threshold, place, found, by_chance):
    fitted = over(1, 1 << 22, bend(*place))
    (causes_,) = causes(run(thresholds=(threshold,)), [fitted])
    (of,) = causes_.bends
    assert [each.threshold.name for each in of.candidates] == found
    assert [each.by_chance for each in of.candidates] == pytest.approx(
        [by_chance] * len(found), abs=0.004
    )


EXACT = [
    msgspec.structs.replace(EAGER, name=f"limit {n}", value=1 << n, header=0)
    for n in (10, 11, 13, 15)
]


@pytest.mark.parametrize(
    ("place", "found", "by_chance"),
    [
        # Each covers one octave of 21 with a bend as wide as that; beside the buffer, which covers
        # three, all that are within one octave of a bend count.
        ((1 << 14, (1 << 15) + 1), [("limit 15", False), ("the buffer", False)], [4 / 21, 8 / 21]),
        ((32700, 32800), [("limit 15", True), ("the buffer", False)], [0.0008, 7 / 22]),
    ],
)
def test_of_many_thresholds_those_are_named_that_together_beat_chance(place, found, by_chance):
    (of,) = causes(run(thresholds=(*EXACT, SMALL)), [over(1, 1 << 22, bend(*place))])[0].bends
    assert [(each.threshold.name, each.is_named) for each in of.candidates] == found
    assert [each.by_chance for each in of.candidates] == pytest.approx(by_chance, abs=0.03)


@settings(max_examples=10)
@given(
    thresholds=st.lists(
        st.builds(
            lambda name, value, vague, acts: msgspec.structs.replace(
                EAGER, name=f"{name}", value=value, header=int(vague * value), acts=acts
            ),
            st.integers(0, 99),
            st.integers(1 << 10, 1 << 22),
            st.sampled_from([0.0, 0.01, 0.1, 0.9]),
            st.sampled_from(["protocol", "pieces", "capacity"]),
        ),
        max_size=12,
    ),
    width=st.sampled_from([0.01, 0.1]),
    off=st.sampled_from([0.0, 0.2]),
    kind=st.sampled_from(["jump", "slope"]),
)
def test_of_bends_anywhere_at_most_one_in_fifty_is_named(thresholds, width, off, kind):
    """However many thresholds there are, and whatever is known of the place."""
    fits = []
    for n in range(1001):
        place = (1 << 10) * math.exp(n / 1000 * math.log(1 << 14))
        low, high = round(place), math.ceil(place * (1 + width))
        fitted = over(1 << 10, 1 << 24, bend(low, high, kind))
        at_most = bend(int(low * (1 - off)), math.ceil(high * (1 + off)), kind)
        fits.append(fitted._replace(found=fitted.found._replace(bends=(at_most,))))
    are_named = [
        any(each.is_named for each in of.candidates)
        for curve in causes(run(thresholds=tuple(thresholds)), fits)
        for of in curve.bends
    ]
    # Places are as far apart as the most exact threshold is from its bend.
    assert sum(are_named) / len(are_named) <= 0.02 + 0.015


@pytest.mark.parametrize(("middle", "is_named"), [(4096, True), (4400, True), (5000, False)])
def test_a_change_of_slope_is_known_better_than_its_interval(middle, is_named):
    """It is most likely between the last size on the one piece and the first on the next."""
    fitted = over(1, 1 << 22, bend(middle - 20, middle + 20, "slope"))
    wide = fitted.found._replace(bends=(bend(3000, 6000, "slope"),))
    (of,) = causes(run(thresholds=(PAGE,)), [fitted._replace(found=wide)])[0].bends
    assert [each.is_named for each in of.candidates] == [is_named]


def test_a_multiple_counts_where_the_one_below_it_does():
    environments = (environment(0), environment(1, host="node2"))
    first, second, third = bend(1400, 1500), bend(2900, 3000), bend(4400, 4500)
    for start, bends, found in (
        (64, (second,), [[]]),
        (64, (first, third), [["the MTU"], []]),
        (64, (first, bend(1600, 1700), second), [["the MTU"], [], ["the MTU"]]),
        (64, (first, second, third), [["the MTU"]] * 3),
        (2000, (second, third), [["the MTU"]] * 2),
    ):
        fitted = over(start, 1 << 16, *bends)._replace(curve=configuration("udp", 0))
        (curve,) = causes(run(thresholds=(MTU,), environments=environments), [fitted])
        assert [[each.threshold.name for each in of.candidates] for of in curve.bends] == found
    assert curve.bends[0].candidates[0].prediction == Prediction(2 * 1472, 2 * 1500, 2)


def test_the_bend_at_a_size_is_the_nearest_within_a_factor_of_two():
    (found,) = causes(run(), [fit(bend(1000, 1100), bend(9000, 9100), bend(9500, 30_000))])
    first, second, third = found.bends
    at = {1050: first, 510: first, 400: None, 4000: None, 9200: second, 16_000: third}
    assert all(bend_at(found.bends, size) is nearest for size, nearest in at.items())
    assert bend_at((), 1) is None


def test_a_prediction_moves_with_the_value_and_the_header_stays():
    (limit,) = predictions(EAGER, CURVE)
    assert moved(Candidate(EAGER, limit), 2) == Prediction(8192 - 64, 8192)
    *_, last = predictions(MTU, CURVE)
    assert moved(Candidate(MTU, last), 6) == Prediction(4 * (9000 - 28), 4 * 9000, 4)


@pytest.mark.parametrize("seed", range(1, len(named_bends.PATHS) + 1))
def test_a_planted_cause_is_named_where_the_place_is_known_well(seed):
    """That many are, and few that are none, is for benchmarks/truth.py to show."""
    assert named_bends.said_of("exact", True, named_bends.is_named, seed) == (1, 1)
    assert named_bends.said_of("exact", False, named_bends.is_known, seed) == (1, 1)


def test_the_page_on_causes_has_the_table_of_kinds():
    text = (ROOT / "docs" / "causes.md").read_text()
    assert causes_page.page(text) == text
