"""halftrip's own table: its columns, its headings, and the lines under it."""

import math

import numpy as np

from halftrip.analysis.compared_run import ComparedRun
from halftrip.analysis.comparison import compare
from halftrip.render.terminal import wrapped
from halftrip.report.document import document
from halftrip.report.numbers import (
    NOTHING,
    number,
    percent,
    supported_digits,
    whole,
    with_interval,
)
from halftrip.results.counts import Delivery
from halftrip.results.records import Aggregate, Skip, WarmUp
from halftrip.stats.estimate import Estimate
from halftrip.views.compare_rows import bounds
from halftrip.views.details import details
from harness import runs
from harness.files import golden
from harness.screens import rows_under, text, text_of


def table(*measurements, round_trips=False, **changes):
    """The table of these measurements; `changes` are fields of the run."""
    return text(details, runs.run(*measurements, **changes), round_trips, width=200)


def first_row(shown):
    """The cells of the first row by the names of their columns."""
    return rows_under(shown.splitlines(), "size")[0]


def heading_of(shown):
    """The names of the columns of the first table."""
    return shown.split("\n\n")[1].splitlines()[0]


def four_rows():
    """Two transports; the cores move during one row."""
    generator = np.random.default_rng(1)

    def slices(*args, of=100.0, **changes):
        levels = [of * generator.normal(1, 0.01) for _ in range(10)]
        return runs.slices(*args, levels=levels, **changes)

    return [
        *slices("tcp", 8, "block", of=10_000.0, iterations=1, warm_up=WarmUp(1, 9, False)),
        *slices("shm", 4096, "spin", of=1000.0),
        *(
            runs.measurement(
                "shm", 65536, "spin", 6000.0 * far, seed=n, slice=n, rtts=(150.0 * far,) * 2
            )
            for n, far in enumerate([1, 1, 1, 1.1, 1, 1.2, 1, 1.05, 1, 1])
        ),
        *slices("shm", 8, "spin"),
    ]


def test_the_whole_table():
    """A wide one is tests/golden/formats/1.txt."""
    shown = text_of(details(document(runs.run(*four_rows()))), 80)
    assert shown == golden("table-80.txt", shown)
    assert max(map(len, shown.splitlines())) <= 80


def streams(*sizes, transport="mpi", **fields):
    fields = {"pattern": "stream", "window": 64, "places": "own"} | fields
    return table(*(runs.measurement(transport, size, iterations=1, **fields) for size in sizes))


def test_the_heading_of_streams_says_how_much_memory_their_messages_take():
    others = "own places: each message of a window has memory of its own, where OSU, IMB"
    shown = streams(1 << 20)
    assert ", window 64, own places: 64 MiB, " in shown
    assert others in shown
    # A buffer takes a cache line at least.
    assert ", own places: 4 KiB to 64 MiB, " in streams(0, 8, 64, 1 << 20)
    same = streams(1 << 20, places="same")
    assert ", places same, " in same
    assert others not in same
    # Others put each to a place of its own, too; and here there is no choice.
    put = streams(1024, pattern="put", mode="onesided")
    for shown in (put, streams(1024, verify=True), streams(1024, cache="cold")):
        assert ", own places: 64 KiB, " in shown
        assert others not in shown
    assert "places" not in streams(8, window=1)
    assert "places" not in streams(8, transport="simulated")


def test_a_rate_has_no_interval_and_one_that_says_nothing_no_ends():
    paced = runs.stream(
        rate=1e9, delivery=Delivery(sent=1000, lost=0, reordered=0, jitter=5.0),
        samples=[9_000] * 90 + [19_000] * 10, peer_times=runs.times(9_000),
    )  # fmt: skip
    shown = table(paced)
    assert "all that arrived / all the time, without an interval" in shown
    row = first_row(shown)
    assert (row["size"], row["bandwidth"], row["messages"]) == ("1000", "1,000", "1.00")
    assert "95 %" not in row
    # That of two launches that are far apart reaches over 24 powers of ten.
    for pattern in ("pingpong", "stream"):
        two = [
            runs.measurement(
                "tcp", 64, pattern=pattern, window=16, half_ns=1000.0 * (1 + 79 * n), launch=n
            )
            for n in range(2)
        ]
        row = first_row(table(*two))
        assert row["95 %"] == row["95 % interval"] == "> 100 %"
    far = ComparedRun.of(runs.run(*two), "far")
    (found,) = compare(far, [far])
    assert bounds(*found.rows) == "0 to any"
    assert with_interval(Estimate(800.0, 1e-10, 1e14), 1.0) == "800 [0, any]"
    assert with_interval(Estimate(0.001, -2.0, 3.0), 1.0) == "0.0010 [-2.0, 3.0]"


def test_interrupted_and_empty_runs_say_why():
    never = Aggregate(
        configuration=runs.configuration(), slice=0, pairs=[(0, 1), (2, 3)], spans=[], messages=[]
    )
    shown = table(runs.measurement(), aggregates=(never,))
    assert "aggregate: shm pingpong 8 B, ranks 0-1, 2-3: never all active" in shown
    assert "interrupted: the run ended without saying why" in table(end=None)
    skip = Skip(transport="tcp", reason="because", windows=[1, 64], sizes=[0, 1024])
    assert "not measured: tcp 0, 1K (window 1, 64): because" in table(skips=(skip,))


def test_round_trips_are_shown_where_something_goes_there_and_back():
    put, ping = runs.measurement(pattern="put", mode="onesided"), runs.measurement()
    alone = table(put, round_trips=True)
    assert "round trip" not in alone
    assert "latency: median of the whole iteration" in alone
    both = table(put, ping, round_trips=True)
    assert "\nround trip: median; 95 %: interval of that median" in both
    assert "\nbandwidth: size / half a round trip" in both
    assert "first message: the first iteration, cold.\n" in both
    assert "\nput: of the whole iteration, of one message, or of one each way at once.\n" in both
    lines = both.replace("\n\nshm", "\nshm").replace("\n\nput", "\nput").splitlines()
    rows = {row["pattern"]: row for row in rows_under(lines, "size")}
    # 200 ns there and back, and 200 ns of an iteration of one message.
    assert rows["pingpong"]["round trip"] == rows["put"]["round trip"]
    half = table(put, ping)
    # A message has the time of one way.
    assert {row["bandwidth"] for row in rows.values()} <= {*half.split()}
    assert "\nlatency: median of half a round trip;" in half
    assert "first message: the first iteration, half, cold." in half


REFINED = runs.planned(refine=True)


def test_breakpoints_are_listed_where_refine_was_requested():
    sizes = [*(2**power for power in range(5, 15)), 4104]
    curves = [
        runs.measurement(transport, size, half_ns=(100 + size / 10) * (jump if size > 4096 else 1))
        for transport, jump in (("shm", 3), ("tcp", 1))
        for size in sizes
    ]
    shown = table(*curves, header=REFINED)
    assert "\nbreakpoints: shm pingpong: 4096 to 4104 (0.509 to 1.53 us)\n" in shown
    assert "\nbreakpoints: tcp pingpong: none found\n" in shown
    assert (
        "\nbreakpoint: where one straight line of time over size ends and another begins" in shown
    )
    assert "breakpoint" not in table(*curves)
    # That of windows is one of a rate.
    rates = (runs.measurement(size=size, pattern="stream", window=10) for size in sizes)
    (curve,) = document(runs.run(*rates, header=REFINED)).curves
    assert (curve.is_rate, curve.name) == (True, "shm stream")
    same, huge = runs.measurement(buffers="same"), runs.measurement(pages="huge")
    shown = table(same, huge, header=REFINED)
    assert "\nbreakpoints: shm pingpong same pages 4K: none found\n" in shown
    assert "\nbreakpoints: shm pingpong separate huge: none found\n" in shown


def test_columns_are_there_where_they_say_something_and_tell_rows_apart():
    on_device = [runs.measurement("mpi", memory="cuda", staging=staging) for staging in (None, 0)]
    assert "staging" in heading_of(table(*on_device))
    host = runs.measurement("mpi", memory="host")
    shown = table(host, on_device[1])
    assert "staging" not in heading_of(shown)
    assert "staging whole" in " ".join(shown.split())
    # The adjusted latency where core-to-core varies, tails where samples are single ones.
    varying = [
        runs.measurement(half_ns=100.0 * far, seed=n, slice=n, rtts=(150.0 * far, 150.0 * far))
        for n, far in enumerate([1, 1, 1, 1.1, 1, 1.2, 1, 1.05, 1, 1])
    ]
    shown = table(*varying)
    assert "adjusted" in heading_of(shown)
    assert "\nadjusted: the latency at the core-to-core" in shown
    steady = table(*(runs.measurement(seed=n, slice=n) for n in range(10)))
    assert not any(name in heading_of(steady) for name in ("adjusted", "max", "p99"))
    single = table(*(runs.measurement(seed=n, slice=n, iterations=1) for n in range(10)))
    assert "p99" in heading_of(single)
    assert (
        "\nsamples: each one round trip, or as many as x says; p99, max: of single ones" in single
    )


def test_figures_have_significant_digits_and_grouped_thousands():
    assert (number(1234567.0), number(0.01234), number(2048, 3, 1024)) == (
        "1,234,567",
        "0.0123",
        "2.00",
    )
    assert percent(0.12345) == "12.3"
    assert whole(12345) == "12,345"
    # Those of a figure are as many as its interval supports.
    widths = (math.inf, 0.5, 0.1, 0.014, 0.003, 1e-9)
    assert [supported_digits(width) for width in widths] == [3, 2, 3, 3, 4, 5]
    # One that does not exist is nothing.
    assert [number(None), number(math.nan)] == [NOTHING, NOTHING]
    assert [percent(None), percent(math.nan), whole(None)] == [NOTHING, NOTHING, NOTHING]
    lines = table(runs.stream(samples=[0] * 40)).splitlines()
    row = rows_under(lines, "size")[0]
    assert row["95 %"] == "± ?"
    assert not {"bandwidth", "95 % interval", "messages"} & row.keys()


def test_a_figure_and_its_unit_stay_on_one_line():
    for width in range(24, 60):
        lines = wrapped("", "others had 16 % of core 0 for 12.5 ms, ± 41 % of rank 3", width, 0)
        assert " ".join(lines) == "others had 16 % of core 0 for 12.5 ms, ± 41 % of rank 3"
        assert not any(line.startswith(("%", "ms")) or line.endswith("core") for line in lines)
