"""What has changed between two runs: which rows are compared, and what is said of each."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.analysis.compared_run import ComparedRun, sides_by, sides_of
from halftrip.analysis.comparison import compare
from halftrip.analysis.repeats import Repeats
from halftrip.analysis.row_change import Spread, row_change
from halftrip.errors import UsageError
from halftrip.results.configuration import Tuning
from halftrip.results.records import Launch
from halftrip.stats.interval import SliceMedian
from halftrip.views.compare import answer, around
from harness import runs
from harness.compared import launches, side


def only(base, new, **options):
    """The only row of a comparison."""
    (found,) = compare(side(base), [side(new, name="b")], **options)
    (row,) = found.rows
    return row


NEAR_100 = [100, 101, 99, 100.5, 99.5]


def test_a_change_in_all_launches_is_found_with_its_size():
    row = only(launches(NEAR_100), launches([1.1 * each for each in NEAR_100]))
    assert row.word == "slower"
    assert row.difference.ratio == pytest.approx(1.1, rel=0.005)
    assert row.difference.low < 1.1 < row.difference.high
    assert row.effect == 1.0
    assert only(launches([110] * 5), launches([100] * 5)).word == "faster"


def test_launches_that_differ_too_much_cannot_be_told_and_more_are_asked_for():
    wide = [100, 110, 92, 104, 97]
    row = only(launches(wide), launches(wide[::-1]))
    assert (row.word, row.reason) == ("cannot tell", "its interval is too wide")
    assert row.launches > 5


def test_a_change_about_as_large_as_the_threshold_is_none_beyond_it():
    row = only(launches(NEAR_100), launches([1.018 * each for each in NEAR_100]))
    assert row.word == "cannot tell"
    assert "perhaps by no more than the threshold" in row.reason
    assert only(launches(NEAR_100), launches([105.0] * 5), threshold=0.1).word == "same"


def test_rates_are_slower_when_they_are_lower():
    settings = {"pattern": "stream", "window": 4}
    row = only(
        launches(NEAR_100, **settings), launches([1.25 * each for each in NEAR_100], **settings)
    )
    assert row.word == "slower"
    assert row.factor == pytest.approx(0.8, rel=0.01)
    low, high = row.bounds
    assert low < 0.8 < high
    assert row.figures[1] < row.figures[0]


def test_two_levels_that_switch_between_launches_are_no_change():
    row = only(launches([100, 400, 100, 101, 99]), launches([400, 401, 100, 399, 400]))
    assert row.word == "cannot tell"
    assert row.reason.startswith("launches are at two levels: 0.100 us (5 of them) and 0.400 us")
    assert row.launches is None


# One launch each.


def test_one_launch_each_is_allowed_what_launches_differ_by():
    base, new = (launches([level], slices=10) for level in (100, 105))
    assert only(base, new).word == "cannot tell"
    assert only(base, new, launch_spread=0.001).word == "slower"
    far = only(base, launches([150], slices=10))
    assert far.word == "slower"
    assert far.is_one_launch_each


def test_what_launches_differ_by_is_that_of_rows_with_several():
    several = launches([100, 104, 97, 101, 99])
    alone = launches([100.0], size=64, slices=10)
    (found,) = compare(side(several, alone), [side(several, alone, name="b")])
    assert found.spread.source == "measured"
    assert found.spread.value == pytest.approx(0.026, rel=0.05)
    (assumed,) = compare(side(alone), [side(alone, name="b")])
    assert assumed.spread == (0.03, "assumed")


# The core-to-core round trip.


def at_rtt(level, rtts, exponent=1.0):
    """Slices whose times go with their core-to-core round trips, 100 ns where these are 100 ns."""
    generator = np.random.default_rng(3)
    made = []
    for number, rtt in enumerate(rtts):
        middle = level * (rtt / 100) ** exponent
        samples = np.rint(generator.normal(20 * middle, 0.1 * middle, 60))
        made.append(runs.measurement(slice=number, samples=samples, rtts=(rtt, rtt)))
    return made


def test_times_are_compared_at_the_same_core_to_core_round_trip():
    base = at_rtt(100, [60, 70, 65, 75, 80, 62, 78, 66])
    new = at_rtt(100, [120, 140, 130, 150, 160, 124, 156, 132])
    row = only(base, new, launch_spread=0.0)
    assert row.word == "same" or row.reason == "its interval is too wide"
    assert row.difference.ratio == pytest.approx(1.0, rel=0.01)
    assert row.adjusted == pytest.approx(2.0, rel=0.05)
    slower = only(base, at_rtt(150, [120, 140, 130, 150, 160, 124, 156, 132]), launch_spread=0.0)
    assert slower.word == "slower"
    assert slower.difference.ratio == pytest.approx(1.5, rel=0.01)


def test_where_the_round_trip_differs_between_runs_alone_it_may_explain_all():
    base, new = at_rtt(100, [60] * 8), at_rtt(100, [120] * 8)
    row = only(base, new, launch_spread=0.0)
    assert (row.word, row.adjusted) == ("cannot tell", None)
    assert row.difference.low < 1.0
    assert only(base, at_rtt(200, [120] * 8), launch_spread=0.0).word == "slower"


def test_a_small_change_of_the_round_trip_may_explain_as_small_a_change():
    base, moved = at_rtt(100, [88] * 8), at_rtt(100, [92] * 8)
    row = only(base, moved, launch_spread=0.0)
    said = "the core-to-core round trip changed as much: 88 ns, now 92 ns"
    assert (row.word, row.reason, row.launches) == ("cannot tell", said, None)
    slower = at_rtt(105, [88] * 8), at_rtt(110, [92] * 8)
    assert [only(base, each, launch_spread=0.0).word for each in slower] == ["slower"] * 2


# Which rows are compared.


def test_rows_that_one_run_has_are_named():
    (found,) = compare(
        side(launches(NEAR_100), launches(NEAR_100, size=64)),
        [side(launches(NEAR_100), launches(NEAR_100, size=32), name="b")],
    )
    assert [each.size for each in found.only_base] == [64]
    assert [each.size for each in found.only_new] == [32]


def test_what_was_measured_on_other_cores_is_the_same():
    def on_cores(measured, cores):
        initiator, responder = (
            msgspec.structs.replace(end, core=core)
            for end, core in zip(measured.configuration.ends, cores, strict=True)
        )
        return runs.with_settings(measured, initiator=initiator, responder=responder)

    row = only(
        [on_cores(each, (0, 1)) for each in launches(NEAR_100)],
        [on_cores(each, (2, 3)) for each in launches(NEAR_100)],
    )
    assert row.word == "same"


def test_rows_measured_otherwise_are_refused_with_what_differs():
    base, new = side(launches(NEAR_100, pattern="stream", window=4)), side(launches(NEAR_100))
    said = r"they differ in pattern: stream, pingpong; --anyway"
    with pytest.raises(UsageError, match=said):
        compare(base, [new])
    (found,) = compare(base, [new], anyway=True)
    assert len(found.rows) == 1
    with pytest.raises(UsageError, match=r"they differ in size: 8, 64$"):
        compare(side(launches(NEAR_100)), [side(launches(NEAR_100, size=64))])


# Quantiles.


def test_tails_are_compared_where_samples_are_single():
    def made(tail):
        samples = [2000] * 95 + [tail] * 5
        return [
            runs.measurement(launch=number, iterations=1, samples=samples) for number in range(5)
        ]

    assert only(made(4000), made(8000)).word == "same"
    row = only(made(4000), made(8000), quantile=0.99)
    assert (row.word, row.difference.ratio) == ("slower", pytest.approx(2.0))
    with pytest.raises(UsageError, match="samples are of several messages"):
        only(launches(NEAR_100), launches(NEAR_100), quantile=0.99)


# Variants of one run.


def varied(value, level):
    return launches(
        [level * each / 100 for each in NEAR_100], variant=(("env.X", value), ("mpiexec", "m"))
    )


def test_variants_of_a_run_are_compared():
    run = runs.run(*varied("one", 100), *varied("two", 120))
    sides = sides_by("env.X", [ComparedRun.of(run, "a.jsonl")])
    assert [each.name for each in sides] == ["one", "two"]
    (found,) = compare(sides[0], sides[1:])
    assert [row.word for row in found.rows] == ["slower"]
    assert dict(found.rows[0].configuration.variant) == {"mpiexec": "m"}


def test_variants_of_several_runs_were_not_measured_in_turn():
    def of(name, level):
        begun = tuple(
            Launch(number=n, round=n, variant=(("env.X", "one"), ("mpiexec", "m")))
            for n in range(8)
        )
        return ComparedRun.of(runs.run(*varied("one", level), launches=begun), name)

    sides = sides_by("env.X", [of("a.jsonl", 100), of("b.jsonl", 120)])
    assert [each.name for each in sides] == ["a.jsonl: one", "b.jsonl: one"]
    assert {each.rounds for each in sides} == {None}
    (found,) = compare(sides[0], sides[1:])
    assert [row.word for row in found.rows] == ["slower"]


# Base and new in turn.


def in_turn(drifts, factor):
    """A run of rounds, in each of which both sides have a launch, at a level of that round."""
    measured, begun = [], []
    for number, drift in enumerate(drifts):
        for launch, (side_, level) in enumerate((("base", 1.0), ("new", factor)), 2 * number):
            variant = (("side", side_),)
            begun.append(Launch(number=launch, round=number, variant=variant))
            (one,) = launches([100 * drift * level], variant=variant)
            measured.append(msgspec.structs.replace(one, launch=launch))
    made = runs.run(*measured, launches=tuple(begun))
    made.header.plan["against"] = {"file": "old.jsonl", "env": [["A", "1"]]}
    return made


def test_what_drifts_from_round_to_round_is_in_neither_side():
    sides = sides_of(in_turn([1.0, 1.5, 0.7, 2.0, 1.2], 1.05))
    assert [each.name for each in sides] == ["old.jsonl, measured again", "new"]
    (found,) = compare(sides[0], sides[1:])
    (row,) = found.rows
    assert row.word == "slower"
    assert row.difference.ratio == pytest.approx(1.05, rel=0.01)
    # Not in turn, it could not be told.
    alone = [each._replace(rounds=None) for each in sides]
    (found,) = compare(alone[0], alone[1:])
    assert [each.word for each in found.rows] == ["cannot tell"]


# By a setting.


def with_buffer(size, level, **fields):
    tuning = Tuning(socket_buffer=size)
    return launches([level * each / 100 for each in NEAR_100], transport="tcp", tuning=tuning,
                    **fields)  # fmt: skip


def test_rows_of_one_run_or_of_two_are_compared_by_a_setting():
    small, large = with_buffer(8192, 120), with_buffer(0, 100)
    shm = launches(NEAR_100)
    both = side(large, small, shm)
    for files in ([both], [side(large, shm), side(small, shm, name="b")]):
        sides = sides_by("socket-buffer", files)
        names = [each.name.split(",")[0] for each in sides]
        assert names == ["socket buffer system", "socket buffer 8K"]
        (found,) = compare(sides[0], sides[1:])
        assert [row.word for row in found.rows] == ["slower"]
        assert found.missing == []
    with pytest.raises(UsageError, match=r"'socket-bufer' was not varied: did you mean socket-b"):
        sides_by("socket-bufer", [both])
    with pytest.raises(UsageError, match="there is one wait: wait spin"):
        sides_by("wait", [both])


@pytest.mark.parametrize("setting", ["wait", "window", "pages", "cache", "nodelay", "delay"])
def test_any_setting_can_be_compared_by(setting):
    values = {"wait": "block", "window": 4, "pages": "huge", "cache": "cold", "delay": 1000}
    fields = {setting: values.get(setting)}
    if setting == "nodelay":
        fields = {"tuning": Tuning(nodelay=False)}
    fields |= {"transport": "tcp", "pattern": "stream"}
    made = side(
        launches(NEAR_100, transport="tcp", pattern="stream"),
        launches([1.2 * each for each in NEAR_100], **fields),
    )
    first, second = sides_by(setting, [made])
    (found,) = compare(first, [second])
    # Of a window, each message takes a part of the time.
    assert [row.word for row in found.rows] == ["faster" if setting == "window" else "slower"]


def test_what_differs_is_said_in_the_words_of_options():
    large, small = with_buffer(0, 100), with_buffer(8192, 100)
    said = r"differ in socket buffer: system, 8K; --by socket-buffer compares them$"
    with pytest.raises(UsageError, match=said):
        compare(side(large), [side(small, name="b")])
    # Beside rows that match, --anyway compares the others, too.
    sides = side(large, launches(NEAR_100)), side(small, launches(NEAR_100), name="b")
    (found,) = compare(sides[0], sides[1:])
    assert len(found.rows) == len(found.only_base) == 1
    (found,) = compare(sides[0], sides[1:], anyway=True)
    assert (len(found.rows), found.only_base) == (2, [])


# What is missing.


def planned(run_or_side, **keys):
    run_or_side.run.header.plan.update(keys)
    return run_or_side


def test_a_row_that_the_plan_asks_for_and_that_is_not_there_is_missing():
    sizes = (8, 64)
    plan = {"transport": ["shm"], "pattern": ["pingpong"], "sizes": "8,64"}
    base = planned(side(*(launches(NEAR_100, size=size) for size in sizes)), **plan)
    new = planned(side(launches(NEAR_100), name="b"), **plan)
    (found,) = compare(base, [new])
    assert [each.size for each in found.missing] == [64]
    for needed, sizes, count in (("none", "8,64", 0), ("asked", "8", 0), ("all", "8", 1)):
        (found,) = compare(base, [planned(new, sizes=sizes)], needed=needed)
        assert len(found.missing) == count
    # Another setting than that of the base is not asked for.
    spin = planned(side(launches(NEAR_100), launches(NEAR_100, wait="block")), **plan)
    (found,) = compare(spin, [planned(new, wait=["spin"], sizes="8,64")])
    assert found.missing == []
    (found,) = compare(spin, [planned(new, wait=[], sizes="8,64")])
    assert [each.both_ends("wait") for each in found.missing] == ["block"]


@given(
    st.lists(st.floats(50, 500), min_size=1, max_size=7),
    st.lists(st.floats(50, 500), min_size=1, max_size=7),
    st.sampled_from([None, "in turn"]),
    st.sampled_from([1.0, 2.0]),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_a_ratio_is_that_of_the_figures_beside_it(base, new, in_turn, rtt, is_rate):
    def repeats(times, rtt):
        half = 0.01
        return Repeats(
            [*range(len(times))], [SliceMedian(each, half * each, 0.0) for each in times],
            [rtt] * len(times), 1.0,
        )  # fmt: skip

    rounds = None if in_turn is None else {n: n for n in range(7)}
    what = runs.configuration(**({"pattern": "stream", "window": 4} if is_rate else {}))
    row = row_change(
        what, repeats(base, 100.0), repeats(new, 100.0 * rtt), Spread(0.03, "assumed"), rounds
    )
    before, after = row.figures
    low, high = row.bounds
    exact = after / before
    assert row.factor == pytest.approx(min(max(exact, low), high))
    # Only of few launches that are far apart the interval is of other means than the median.
    if min(len(base), len(new)) >= 4 or in_turn:
        assert row.factor == pytest.approx(exact)


@pytest.mark.parametrize(
    ("others", "word"),
    [((0.4, 0.02), "cannot tell"), ((0.02, 0.4), "cannot tell"), ((0.4, 0.36), "slower")],
)
def test_what_ran_beside_one_run_alone_may_explain_a_change(others, word):
    def run_beside(levels, share, name):
        end = runs.usage(core={"others": share})
        return side(launches(levels, usage=(end, end)), name=name)

    base = run_beside(NEAR_100, others[0], "a")
    new = run_beside([1.3 * level for level in NEAR_100], others[1], "b")
    (found,) = compare(base, [new])
    (row,) = found.rows
    assert (row.word, row.launches) == (word, None)
    assert bool(row.beside) == (word == "cannot tell")
    if row.beside:
        assert row.cause == "other programs ran beside one run alone"
        had, now = ("40 %", "hardly any")[:: 1 if others[0] > others[1] else -1]
        assert around(found)[0] == f"differs: other programs had of a core: {had} -> {now}"
        assert any(each.startswith(f"Cannot tell of 1 row: {row.cause}") for each in answer(found))
