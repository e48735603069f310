"""What a table says of a run."""

import csv
import io
import json
import math
from pathlib import Path

import msgspec
import numpy as np
import pytest
from rich.console import Console

from halftrip.analysis.flags import verdicts
from halftrip.report.machine import as_csv, as_json
from halftrip.report.rows import rows
from halftrip.report.table import render
from halftrip.results.delivery import Delivery
from halftrip.results.records import LineBound, Skip, Together, WarmUp
from harness import runs


def printed(run, rtt=False):
    console = Console(file=io.StringIO(), width=200, highlight=False)
    console.print(render(run, rtt))
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


GOLDEN = Path(__file__).parent.parent / "golden" / "table.txt"


def a_run():
    return runs.run(
        runs.measurement("tcp", 8, "block", 10_000.0, stopped="time", warm_up=WarmUp(1, 9, False)),
        runs.measurement("shm", 4096, "spin", 1000.0, line=LineBound(150.0, 300.0)),
        runs.measurement("shm", 8),
    )


def test_the_table_is_as_it_was():
    assert printed(a_run()) + "\n" == GOLDEN.read_text()


def test_what_differs_between_rows_gets_a_column():
    text = printed(
        runs.run(
            runs.measurement(buffers="same"), runs.measurement(buffers="separate", pages="huge")
        )
    )
    heading = text.splitlines()[0]
    assert "buffers" not in heading
    assert "pages" not in heading
    assert "mode blocking" in heading
    assert "same" in text
    assert "huge" in text


def test_cases_with_nothing_to_say_are_shown_as_that():
    text = printed(runs.run(runs.measurement(samples=[2000], line=None)))
    row = next(line for line in text.splitlines() if line.startswith(" shm"))
    assert row.split() == ["shm", "spin", "8", "0.1000", "-", "-", "0.100", "80.0", "1.00", "1",
                           "x10", "-"]  # fmt: skip


def stream(**changes):
    made = runs.measurement("udp", 1000, "block")
    case = msgspec.structs.replace(made.case, pattern="stream", window=10)
    # Ten datagrams in 10 us.
    values = {"case": case, "exchanges": 1, "samples": [10_000] * 100, "peer_ns": 10_000.0}
    return msgspec.structs.replace(made, **(values | changes))


def test_what_got_lost_is_no_bandwidth():
    delivery = Delivery(sent=1000, lost=250, late=10, jitter=1500.0)
    (row,) = rows(runs.run(stream(delivery=delivery)))
    assert row.bandwidth == pytest.approx(0.75e9)
    assert row.rate == pytest.approx(0.75e6)
    assert row.peer_bandwidth is None
    text = printed(runs.run(stream(delivery=delivery)))
    cells = next(line for line in text.splitlines() if line.startswith(" udp")).split()
    assert cells[-4:] == ["1,000", "25", "1.0", "1.50"]
    assert cells[2:5] == ["1000", "750.0", "-"]
    assert "lost: never came" in text


def test_a_queue_that_fills_up_is_no_bandwidth_of_the_path():
    """The first windows go into the queue at once; what it cannot deliver is lost later."""
    samples = [5_000] * 60 + [20_000] * 40
    delivery = Delivery(sent=1000, lost=100, late=0)
    (row,) = rows(runs.run(stream(samples=samples, delivery=delivery)))
    assert row.bandwidth == pytest.approx(900 * 1000 / 1.1e-3)
    nothing_lost = Delivery(sent=1000, lost=0, late=0)
    (row,) = rows(runs.run(stream(samples=samples, delivery=nothing_lost)))
    assert row.bandwidth == pytest.approx(10 * 1000 / 5e-6)
    assert row.peer_bandwidth == pytest.approx(1e9)


def test_deliveries_of_repetitions_add_up_and_the_last_jitter_stays():
    (row,) = rows(
        runs.run(
            stream(delivery=Delivery(sent=10, lost=1, late=2, jitter=5.0)),
            stream(delivery=Delivery(sent=30, lost=3, late=0, jitter=7.0), repetition=1),
        )
    )
    assert row.delivery == Delivery(sent=40, lost=4, late=2, jitter=7.0)
    assert row.delivered == pytest.approx(0.9)


def test_a_lost_exchange_of_a_ping_pong_is_no_sample_and_takes_no_bandwidth():
    lost = Delivery(sent=500, lost=100, late=0)
    (row,) = rows(runs.run(runs.measurement("udp", 8, "block", delivery=lost)))
    (whole,) = rows(runs.run(runs.measurement("udp", 8, "block")))
    assert row.bandwidth == whole.bandwidth
    assert "jitter" not in printed(runs.run(runs.measurement(delivery=lost))).splitlines()[2]


def test_pairs_that_were_never_active_together_are_said_to_be_so():
    case = runs.measurement().case
    never = Together(case=case, repetition=0, pairs=[(0, 1), (2, 3)], spans=[], messages=[])
    text = printed(runs.run(runs.measurement(), togethers=(never,)))
    assert "together: shm pingpong 8, ranks 0-1, 2-3: never all active" in text


def test_an_interrupted_run_says_so_and_an_empty_one_why():
    assert "interrupted: the run ended without saying why" in printed(runs.run(end=None))
    empty = runs.run(skips=(Skip(transport="tcp", reason="because", sizes=[0, 1024]),))
    assert "not measured: tcp 0, 1K: because" in printed(empty)


def test_rows_come_in_order_whatever_the_order_of_measuring():
    sizes = [64, 1, 4096]
    run = runs.run(
        *(runs.measurement(t, s) for s in sizes for t in ("tcp", "new", "mpi")),
    )
    shown = [(row.case.transport, row.case.size) for row in rows(run)]
    assert shown == [(t, s) for t in ("mpi", "tcp", "new") for s in sorted(sizes)]


def test_repetitions_make_one_row():
    run = runs.run(
        runs.measurement(repetition=0, line=LineBound(150.0, 160.0)),
        runs.measurement(repetition=1, seed=2, exchanges=20, line=LineBound(130.0, 131.0)),
    )
    (row,) = rows(run)
    assert row.summary.samples == 800
    assert row.exchanges == 20
    assert row.line == (130.0, 160.0)


def test_programs_get_the_same_rows():
    document = json.loads(as_json(a_run()))
    table = list(csv.DictReader(io.StringIO(as_csv(a_run()))))
    assert len(document["rows"]) == len(table) == 3
    for from_json, from_csv in zip(document["rows"], table, strict=True):
        assert from_json.keys() == from_csv.keys()
        assert float(from_csv["latency_ns"]) == pytest.approx(from_json["latency_ns"])
    assert document["rows"][2]["flags"] == "drift not-converged"
    assert document["skipped"][0]["transport"] == "mpi"
    assert document["interrupted"] is None


SPENT = (
    *("load", "elapsed_s", "user_s", "system_s", "kernel_share", "cpu_s_per_gb", "busy_poll"),
    *("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults"),
    *("peak_memory_bytes", "waited_share", "others_share", "stolen_share"),
    *("instructions", "cycles", "instructions_per_cycle", "counted", "core", "culprit"),
    *("frequency_hz", "energy_j"),
)


def test_names_for_programs_end_in_their_unit_and_keep_their_order():
    heading = as_csv(a_run()).splitlines()[0].split(",")
    assert heading == [
        *("transport", "pattern", "mode", "size_bytes", "memory", "buffers", "pages", "cache"),
        *("wait", "pair", "window", "align_bytes", "datatype", "rate_bytes_per_s", "verify"),
        *("thread", "company", "latency_ns", "low_ns", "high_ns", "p99_ns", "max_ns"),
        *("bandwidth_bytes_per_s", "first_ns", "samples", "exchanges", "messages_per_s"),
        *("total_bandwidth_bytes_per_s", "peer_bandwidth_bytes_per_s"),
        *("bandwidth_there_bytes_per_s", "bandwidth_back_bytes_per_s", "sent", "lost", "late"),
        *(
            "jitter_ns",
            "verified",
            "launches",
            "between_launches",
            "within_launches",
            "line_low_ns",
            "line_high_ns",
            "marked",
        ),
        *(f"{end}_{figure}" for end in ("initiator", "responder") for figure in SPENT),
        "flags",
    ]
    document = json.loads(as_json(a_run()))
    assert set(document["rows"][0]) == set(heading)
    assert document["copies"] == [{"size_bytes": 65536, "ns": 2000.0}]
    documented = (Path(__file__).parent.parent.parent / "docs" / "run-file.md").read_text()
    assert [name for name in heading if f"`{name}`" not in documented] == []


def test_programs_get_no_nan():
    document = json.loads(as_json(runs.run(runs.measurement(samples=[2000], line=None))))
    assert document["rows"][0]["low_ns"] is None
    assert as_csv(runs.run()) == ""


def flags(run, measurements):
    return verdicts(run)[measurements[0].case]


@pytest.mark.parametrize(
    ("changes", "environments", "name"),
    [
        ({"stopped": "time"}, {}, "not-converged"),
        ({"warm_up": WarmUp(1, 1, False)}, {}, "drift"),
        ({}, {"core": None}, "unpinned"),
        ({}, {"oversubscribed": True}, "oversubscribed"),
    ],
)
def test_each_flag_has_its_cause_and_only_that(changes, environments, name):
    measured = runs.measurement(**changes)
    ranks = (runs.environment(0), runs.environment(1, **environments))
    found = flags(runs.run(measured, environments=ranks), [measured])
    assert [flag.name for flag in found] == [name]
    assert found[0].seen
    assert found[0].advice
    assert flags(runs.run(runs.measurement()), [runs.measurement()]) == ()


def test_repetitions_that_converged_apart_have_not_converged_together():
    apart = [runs.measurement(half_ns=100.0), runs.measurement(half_ns=300.0, repetition=1)]
    (flag,) = flags(runs.run(*apart), apart)
    assert flag.name == "not-converged"
    assert "all of them only within 50 %" in flag.seen
    together = [runs.measurement(), runs.measurement(repetition=1, seed=2)]
    assert flags(runs.run(*together), together) == ()


def test_a_row_that_is_full_is_blamed_where_its_interval_is_wide():
    spread = 2000 * np.random.default_rng(1).lognormal(0, 0.5, 40)
    wide = runs.measurement(stopped="full", samples=[round(time) for time in spread])
    (flag,) = flags(runs.run(wide), [wide])
    assert flag.name == "not-converged"
    assert "all samples that are kept" in flag.seen
    narrow = runs.measurement(stopped="full")
    assert flags(runs.run(narrow), [narrow]) == ()


def test_a_row_that_was_not_asked_to_converge_is_not_blamed():
    run = runs.run(runs.measurement(stopped="time"))
    run.head.plan["ci"] = "none"
    assert flags(run, list(run.measurements)) == ()


def test_the_bandwidth_of_no_bytes_is_none():
    (row,) = rows(runs.run(runs.measurement(size=0)))
    assert row.summary.bandwidth == 0
    assert not math.isnan(row.summary.latency)


def test_each_way_is_what_came_until_all_of_a_window_had_come():
    made = stream(peer_ns=None)
    case = msgspec.structs.replace(made.case, transport="tcp", pattern="bidirectional")
    made = msgspec.structs.replace(made, case=case, arrival_ns=(10_000.0, 5_000.0))
    (row,) = rows(runs.run(made))
    assert row.bandwidth == pytest.approx(2e9)
    assert row.each_way == (pytest.approx(1e9), pytest.approx(2e9))
    assert "1,000 + 2,000" in printed(runs.run(made))


def of_pattern(pattern, mode="blocking", **changes):
    made = runs.measurement(**{name: changes.pop(name) for name in ("size",) if name in changes})
    window = changes.pop("window", 1)
    case = msgspec.structs.replace(made.case, pattern=pattern, mode=mode, window=window)
    return msgspec.structs.replace(made, case=case, **changes)


def test_a_legend_has_a_line_for_what_is_there_and_none_for_what_is_not():
    plain = printed(runs.run(of_pattern("stream", window=10)))
    for word in ("receiver:", "each way:", "jitter", "sent:", "verified:", "both directions"):
        assert word not in plain
    both = printed(runs.run(of_pattern("bidirectional", window=10, arrival_ns=(2000.0, 1500.0))))
    assert "\neach way: there + back, each until all of a window had come.\n" in both
    assert "the sum of both directions where both send" in both
    assert "receiver:" not in both
    one = printed(runs.run(of_pattern("stream", window=10, peer_ns=2000.0, verified=7)))
    assert "\nreceiver: by its own clock.\n" in one
    assert "\nverified: messages of which every byte" in one
    sent = Delivery(sent=10, lost=0, late=0)
    assert "jitter" not in printed(runs.run(of_pattern("stream", window=10, delivery=sent)))
    sent = msgspec.structs.replace(sent, jitter=5.0)
    assert "; jitter: RFC 3550." in printed(
        runs.run(of_pattern("stream", window=10, delivery=sent))
    )


def test_round_trips_are_of_what_goes_there_and_back():
    put, ping = of_pattern("put", "onesided"), runs.measurement()
    alone = printed(runs.run(put), rtt=True)
    assert "round trip" not in alone
    assert "latency: median of the whole exchange" in alone
    both = printed(runs.run(put, ping), rtt=True)
    assert "\nround trip: median; interval: of that median" in both
    assert "\nbandwidth: size / half a round trip" in both
    assert "first: the first exchange.\n" in both
    assert "\nput: of the whole exchange, of one message, or of one each way at once.\n" in both
    rows_of = {line.split()[2]: line.split() for line in both.splitlines() if " shm" in line[:5]}
    # 200 ns there and back, and 200 ns of an exchange that is one message.
    assert rows_of["pingpong"][5] == rows_of["put"][5]
    half = printed(runs.run(put, ping))
    assert "\nlatency: median of half a round trip;" in half
    assert "first: the first exchange, half." in half


def test_at_a_rate_there_is_no_median_to_show():
    made = stream(delivery=Delivery(sent=1000, lost=0, late=0, jitter=5.0))
    case = msgspec.structs.replace(made.case, rate=1e9)
    samples = [9_000] * 90 + [19_000] * 10
    paced = msgspec.structs.replace(made, case=case, samples=samples, peer_ns=9_000.0)
    (row,) = rows(runs.run(paced))
    assert row.bandwidth == pytest.approx(1e9)
    assert row.rate == pytest.approx(1e6)
    assert row.peer_bandwidth is None
    text = printed(runs.run(paced))
    assert "median" not in text[text.index("bandwidth: all") : text.index("window p99, max")]
    assert "all that arrived / all the time, without an interval" in text
    cells = next(line for line in text.splitlines() if line.startswith(" udp")).split()
    assert cells[2:6] == ["1000", "1,000", "-", "1.00"]


def refined(*measurements):
    run = runs.run(*measurements)
    run.head.plan["refine"] = True
    return printed(run)


def test_where_curves_bend_is_said_where_that_was_asked_for():
    sizes = [*(2**power for power in range(5, 15)), 4104]
    curves = [
        runs.measurement(transport, size, half_ns=(100 + size / 10) * (jump if size > 4096 else 1))
        for transport, jump in (("shm", 3), ("tcp", 1))
        for size in sizes
    ]
    text = refined(*curves)
    assert "\nbends: shm pingpong spin: 4096 to 4104 (0.509 to 1.53 us)\n" in text
    assert "\nbends: tcp pingpong spin: none found\n" in text
    assert "\nbends: one straight line of time over size ends, another begins" in text
    assert "bends" not in printed(runs.run(*curves))
    # What tells the rows apart tells the curves apart.
    apart = refined(runs.measurement(buffers="same"), runs.measurement(pages="huge"))
    assert "\nbends: shm pingpong same 4K spin: none found\n" in apart
    assert "\nbends: shm pingpong separate huge spin: none found\n" in apart


def test_many_bends_are_on_many_lines():
    stairs = [
        runs.measurement("shm", size, half_ns=100.0 * 2 ** (size.bit_length() // 3))
        for power in range(3, 22)
        for size in (2**power - 1, 2**power, 2**power + 2 ** (power - 1))
    ]
    text = refined(*stairs)
    told = text[text.index("bends: shm") : text.index("bends: one")]
    assert told.count("\n") > 1
    assert all(len(line) <= 100 for line in told.splitlines())


def test_no_line_of_a_legend_is_longer_than_a_hundred_columns():
    text = "\n".join(
        printed(runs.run(made), rtt)
        for made in (
            of_pattern("put", "onesided", verified=3),
            of_pattern("bidirectional", window=10, arrival_ns=(2000.0, 1500.0)),
            stream(delivery=Delivery(sent=1000, lost=1, late=0, jitter=5.0)),
            runs.measurement(),
        )
        for rtt in (False, True)
    )
    assert [line for line in text.splitlines() if len(line) > 100 and ": " in line] == []


def test_what_is_too_short_to_judge_is_not_said_to_drift():
    few = runs.measurement(warm_up=WarmUp(3, 9, False), samples=[2000] * 10)
    assert flags(runs.run(few), [few]) == ()
    many = runs.measurement(warm_up=WarmUp(300, 9, False))
    assert [flag.name for flag in flags(runs.run(many), [many])] == ["drift"]


def test_a_run_that_is_printed_shows_no_samples():
    assert repr(runs.run(runs.measurement())) == (
        "Run(2026-01-31T12:00:00+00:00, 1 cases, 1 measurements)"
    )
