"""Rows that are figures of other tools: those that are wrong are found, and no others."""

import pytest

from halftrip.analysis.compared_run import ComparedRun, unlike
from halftrip.analysis.comparison import compare
from halftrip.analysis.figures import row_fields
from halftrip.analysis.flags import evidences, flags_of
from halftrip.analysis.matching import partners, unknown_of
from halftrip.errors import UsageError
from halftrip.report.document import document
from halftrip.results.configuration import not_said
from halftrip.views.compare import answer
from halftrip.views.details import details
from harness import runs
from harness.flags import noise, pingpong, verdicts_of
from harness.imports import causes, imported_run, stating
from harness.runs import configuration
from harness.screens import text

# Hpcbench, blocking stream, exponential, over Gigabit Ethernet: bytes and Mbit/s.
GIGABIT = {
    1: 0.0081, 2: 0.016, 4: 0.0317, 8: 0.064, 16: 12.0482, 32: 24.0612, 64: 46.97, 128: 112.5437,
    256: 197.8421, 512: 232.417, 1024: 251.0281, 2048: 258.4786,
}  # fmt: skip


def single(size, ns, window=1, **changes):
    """A row that is one figure: a message takes `ns`."""
    pattern = "stream" if window > 1 else "pingpong"
    samples = [round(1000 * ns * (window if window > 1 else 2))]
    values = {"pattern": pattern, "window": window, "iterations": 1000, "stopped": "count"}
    values |= {"samples": samples, "rtts": None}
    return runs.measurement("tcp", size, "block", **(values | changes))


def contradicted(measurements):
    """What contradicts which rows, by pattern, size and window; rows of both ends say the same."""
    found = {}
    for each, verdict in verdicts_of(runs.run(*measurements)).items():
        assert verdict.word == "no"
        if verdict.cause.name == "contradicted":
            found.setdefault((each.pattern, each.size, each.window), set()).add(verdict.cause.seen)
    assert all(len(seen) == 1 for seen in found.values())
    return {row: seen.pop() for row, seen in found.items()}


def test_bytes_that_take_a_millisecond_each_are_found():
    """1 to 8 bytes; the author "couldn't figure out" why."""
    rows = [single(size, size * 8e3 / rate) for size, rate in GIGABIT.items()]
    found = contradicted(rows)
    assert {size for _, size, _ in found} == {1, 2, 4, 8}
    assert found["pingpong", 8, 1] == "1,000 us, where 16 B take 10.6 us: more goes faster"


def test_sizes_that_wait_for_a_timer_are_told_from_others():
    """Three sizes or more that take as long as each other, and longer than a tick of 0.1 ms."""
    (advice,) = advices([single(size, size * 8e3 / rate) for size, rate in GIGABIT.items()])
    assert "wait for a timer" in advice
    larger = [single(64, 1000), single(128, 1000)]
    for times, waits in (
        ((2e5, 2e5, 2e5), True),
        ((2e5, 2e5), False),
        ((2e5, 2e5, 3e5), False),
        ((9e4, 9e4, 9e4), False),
    ):
        small = [single(1 << n, ns) for n, ns in enumerate(times)]
        (found,) = advices([*small, *larger])
        assert (found == advice) == waits


def advices(measurements):
    """What to do about rows that others contradict."""
    found = verdicts_of(runs.run(*measurements)).values()
    return {each.cause.advice for each in found if each.cause.name == "contradicted"}


# The limits.


@pytest.mark.parametrize(("times", "found"), [(4.9, False), (5.1, True)])
def test_figures_without_intervals_have_to_differ_by_five(times, found):
    rows = [single(8, 1000 * times), single(64, 1000)]
    assert set(contradicted(rows)) == ({("pingpong", 8, 1)} if found else set())
    # A larger message may take as much longer as it likes.
    assert contradicted([single(8, 1000), single(64, 1000 * times)]) == {}
    launches = [single(8, 1000 * times), single(8, 1000, launch=1)]
    assert set(contradicted(launches)) == ({("pingpong", 8, 1)} if found else set())
    slices = [single(8, 1000 * (times if n == 2 else 1), slice=n) for n in range(5)]
    assert set(contradicted(slices)) == ({("pingpong", 8, 1)} if found else set())


def test_what_the_clock_or_the_state_explains_contradicts_nothing():
    assert contradicted([single(8, 1000), single(64, 0)]) == {}
    assert contradicted([single(8, 1000), single(8, 0, launch=1)]) == {}
    far, near = (300.0, 300.0), (150.0, 150.0)
    for apart in ([far, near], [near, near]):
        slow, fast = single(8, 10_000, rtts=apart[0]), single(64, 1000, rtts=apart[1])
        assert (contradicted([slow, fast]) == {}) == (apart[0] != apart[1])
        again = single(8, 1000, launch=1, rtts=apart[1])
        assert (contradicted([slow, again]) == {}) == (apart[0] != apart[1])


HEADING = "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n"


def osu(*rows):
    return imported_run(HEADING + "".join(f"{size:<10d}{us:>20s}\n" for size, us in rows))


def of_mpi4py_ve(*rows):
    rule = "|" + "|".join("-" * width for width in (15, 23, 18)) + "|"
    made = [f"|{size:>15d}|{us / 1e6:23.9f}|{size / us * 1e6 / 2**30:18.9f}|" for size, us in rows]
    return imported_run("\n".join([
        f"{{'dev1': 'vh', 'dev2': 'vh', 'n': {len(rows)}, 'loop_count': 10}}",
        "| Data Size (B) | Avg Transfer Time (s) | Bandwidth (GB/s) |",
        rule, *made, rule, "",
    ]))  # fmt: skip


@pytest.mark.parametrize(("us", "is_coarse"), [
    # Half of the last digit is 5 ns: 1 % of 0.5 us.
    ("0.50", False), ("0.49", True), ("0.16", True), ("12.00", False),
])  # fmt: skip
def test_digits_that_say_too_little(us, is_coarse):
    (row,) = evidences(osu((8, us)))
    flags = {flag.name: flag.seen for flag in flags_of(row, [])}
    assert ("coarse-clock" in flags) == is_coarse
    if is_coarse:
        assert "in steps of 0.0100 us" in flags["coarse-clock"]


@pytest.mark.parametrize("rows", [
    # Not slower than what is larger, or hardly.
    [(8, 4.0), (16, 4.1), (32, 4.2)],
    [(8, 4.8), (16, 4.0), (32, 4.2)],
    # Nothing to compare it with.
    [(8, 50.0)],
    # Not the first row.
    [(8, 4.0), (16, 4.1), (32, 4.2), (64, 4.5)],
])  # fmt: skip
def test_a_first_row_that_is_as_others_is_no_cold_start(rows):
    assert "cold start" not in {cause.name for cause in causes(of_mpi4py_ve(*rows)).values()}


def test_a_tool_that_warms_up_has_no_cold_start():
    """Nothing says that OSU's first row is cold: it contradicts the others."""
    found = causes(osu((8, "50.00"), (16, "4.00"), (32, "4.10")))
    assert found[(), 8].name == "contradicted"


def launches(*levels):
    """A row of so many launches, whose medians are these factors apart."""
    return runs.run(*(
        pingpong(noise(seed=10 * n + k, middle=1000.0 * level), 1000.0, launch=n, slice=k)
        for n, level in enumerate(levels)
        for k in range(3)
    ))  # fmt: skip


@pytest.mark.parametrize(("levels", "odd"), [
    ((0.4, 1.0, 1.01, 0.99, 1.0, 1.02), "launch 0"),
    ((1.0, 1.01, 0.99, 1.0, 1.02, 2.0), "launch 5"),
    # Two halves, or launches that are all apart: no single one is odd.
    ((1.0, 1.0, 1.0, 2.0, 2.0, 2.0), None),
    ((1.0, 1.3, 1.6, 1.9, 2.2, 2.5), None),
])  # fmt: skip
def test_one_launch_in_another_mode(levels, odd):
    (row,) = document(launches(*levels)).rows
    assert row.verdict.word == "no"
    assert (row.verdict.cause.name == "another mode") == (odd is not None)
    if odd is not None:
        assert row.verdict.cause.seen.startswith(f"{odd} took ")


MEAN = "# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n8 24.571\n"


@pytest.mark.parametrize(
    ("low", "high", "level", "at_95", "word"),
    [
        # As sockperf prints it: 99 %, which is 1.314 times as wide as 95 %.
        (24.417, 24.725, 0.99, (24.454, 24.688), "caution"),
        (24.417, 24.725, 0.95, (24.417, 24.725), "caution"),
        (20.0, 30.0, 0.95, (20.0, 30.0), "no"),
    ],
)
def test_an_interval_that_the_source_states_is_the_rows_and_said_to_be_so(
    low, high, level, at_95, word
):
    run = stating(imported_run(MEAN), low, high, level)
    (row,) = document(run).rows
    fields = row_fields(row)
    assert (fields["stated_low_ns"], fields["stated_high_ns"]) == (1e3 * low, 1e3 * high)
    assert fields["stated_level"] == level
    assert (row.summary.low, row.summary.high) == pytest.approx([1e3 * x for x in at_95], rel=1e-4)
    assert (row.verdict.word, row.verdict.cause.name) == (word, "stated interval")
    shown = text(details, run)
    assert f"({100 * level:g} %)" in shown
    assert "no interval" not in shown


def test_stated_intervals_are_those_of_a_comparison():
    sides = [
        ComparedRun.of(stating(imported_run(MEAN.replace("24.", f"{mean}.")), mean, mean + 1), "")
        for mean in (24, 34)
    ]
    (found,) = compare(sides[0], sides[1:])
    assert [row.word for row in found.rows] == ["slower"]
    assert "made of those that their sources state" in answer(found)[-1]


OSU = """# OSU MPI Latency Test v7.4
# Size          Latency (us)
8                       0.51
16                      0.52
"""
SLOWER_OSU = OSU.replace("0.52", "0.78")


def test_a_mean_is_not_compared_with_a_median():
    measured = [
        runs.measurement("mpi", half_ns=ns, launch=launch, places="own")
        for launch, ns in enumerate((100, 101, 99))
    ]
    ours = ComparedRun.of(runs.run(*measured), "a")
    theirs = ComparedRun.of(imported_run(OSU), "osu.jsonl")
    with pytest.raises(UsageError, match=r"a has the median, osu.jsonl the mean; --anyway"):
        compare(ours, [theirs], match_unknown=True)
    # Three launches do not tell how far the single figure holds.
    (found,) = compare(ours, [theirs], anyway=True)
    assert [(row.word, row.reason) for row in found.rows] == [("cannot tell", "no interval")]
    (found,) = compare(ours, [theirs], anyway=True, launch_spread=0.02)
    assert [row.word for row in found.rows] == ["slower"]


def test_all_that_it_takes_is_said_at_once():
    """The wait of an imported row is not known, and its figure is a mean."""
    ours = ComparedRun.of(runs.run(runs.measurement("mpi", 8, places="own")), "a")
    theirs = ComparedRun.of(imported_run(OSU), "b")
    with pytest.raises(UsageError) as raised:
        compare(ours, [theirs])
    assert "; a has the median, b the mean; --match-unknown --anyway compares" in str(raised.value)
    assert compare(ours, [theirs], anyway=True, match_unknown=True)


def test_of_single_figures_their_ratio_is_known_until_somebody_says_what_launches_differ_by():
    sides = [ComparedRun.of(imported_run(text), text) for text in (OSU, SLOWER_OSU)]
    (found,) = compare(sides[0], sides[1:])
    assert [(row.word, row.reason) for row in found.rows] == [("cannot tell", "no interval")] * 2
    assert [row.ratio for row in found.rows] == pytest.approx([1.0, 1.5], rel=1e-3)
    (found,) = compare(sides[0], sides[1:], launch_spread=0.002)
    assert [row.word for row in found.rows] == ["same", "slower"]


@pytest.mark.parametrize(
    ("base", "new", "matches"),
    [
        # Unknown of neither, of one, of both; a number has no such value.
        ((), (), ("exact", [], [])),
        (("wait",), (), ("asked", [], ["wait"])),
        ((), ("mss",), ("asked", [], ["mss"])),
        (("wait", "mss"), ("wait", "mss"), ("exact", ["wait", "mss"], [])),
        (("wait", "mss"), ("wait",), ("asked", ["wait"], ["mss"])),
    ],
)
def test_what_is_unknown_is_the_same_as_what_is_unknown_too(base, new, matches):
    when, both, one = matches
    known = configuration("tcp", 8)
    rows = [[not_said(known, names)] for names in (base, new)]
    assert len(partners(*rows)) == (when == "exact")
    found = partners(*rows, match_unknown=True)
    assert unknown_of(found) == (both, one)
    # What is known of both has to be the same.
    slower = [not_said(configuration("tcp", 8, window=2), new)]
    assert not partners(rows[0], slower, match_unknown=True)
    if when == "asked":
        assert unlike(*rows).endswith(
            f"one run does not say {one[0]}; --match-unknown compares them"
        )
