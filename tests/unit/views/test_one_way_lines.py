"""What is said of one-way times, and of those that are not known."""

import csv

import numpy as np

from halftrip.cli.show import ShowRequest, show_runs
from halftrip.report.document import document
from halftrip.views import notes
from harness import runs
from harness.arrivals import BOOTED, SECOND, block, comparison, ping_pong

SAME, OTHER = ("a", "a"), ("a", "b")


def made(there, back):
    return [block(np.full(100, float(there)), np.full(100, float(back)))] * 6


def run_of(there, back, hosts=SAME, round_trip=1000):
    compared = [comparison(BOOTED + at, 0, round_trip) for at in (-SECOND, SECOND)]
    run, _ = ping_pong(made(there, back), hosts, compared if hosts == OTHER else ())
    return run


def test_which_way_takes_longer_is_on_the_first_screen(tmp_path, capsys):
    for there, back, said in (
        (40_000, 80_000, "one way: tcp 8 B: 2.0 times as long back as there"),
        (60_000, 40_000, "one way: tcp 8 B: 1.5 times as long there as back"),
    ):
        run = run_of(there, back)
        assert (notes.uneven_ways(document(run)), notes.unknown_ways(document(run))) == ([said], [])
        path = runs.save(run, tmp_path / "run.jsonl")
        for views in ([], ["details"]):
            show_runs([str(path)], ShowRequest(views=views))
            assert said in capsys.readouterr().out
    alike = document(run_of(50_000, 51_000))
    assert notes.uneven_ways(alike) == notes.unknown_ways(alike) == []


def test_why_there_are_no_times_is_said_on_request(tmp_path, capsys):
    run = run_of(50_000, 60_000, OTHER, round_trip=18_000)
    said = (
        "no times there and back: tcp 8 B: the clocks of a and b are known within 9.1 us, and the "
        "latency is 55 us"
    )
    assert notes.unknown_ways(document(run)) == [said]
    path = runs.save(run, tmp_path / "run.jsonl")
    show_runs([str(path)], ShowRequest())
    assert "no times there" not in capsys.readouterr().out
    show_runs([str(path)], ShowRequest(views=["details"], wide=True))
    printed = " ".join(capsys.readouterr().out.split())
    assert said in printed
    assert "clock error" not in printed
    path = runs.save(run_of(50_000, 60_000, OTHER), tmp_path / "known.jsonl")
    show_runs([str(path)], ShowRequest(views=["details"], wide=True))
    printed = " ".join(capsys.readouterr().out.split())
    assert "there back clock error" in printed
    assert "there, back: the message and its reply" in printed


def test_what_is_not_known_is_null(tmp_path, capsys):
    """The error of the clocks is not: it says why."""
    for round_trip, known in ((18_000, False), (1000, True)):
        path = runs.save(run_of(50_000, 60_000, OTHER, round_trip), tmp_path / "run.jsonl")
        show_runs([str(path)], ShowRequest(format="csv"))
        (row,) = csv.DictReader(capsys.readouterr().out.splitlines())
        assert bool(row["there_ns"]) == bool(row["back_ns"]) == known
        assert float(row["clock_error_ns"]) > round_trip / 2


def test_of_many_paths_the_first_are_named():
    found = document(run_of(40_000, 80_000))
    rows = [
        row._replace(configuration=runs.configuration("tcp", size, pair=(0, rank)))
        for row in found.rows
        for rank in range(1, 7)
        for size in (1, 8, 1024, 4096)
    ]
    said = notes.uneven_ways(found._replace(latency_rows=rows))
    assert len(said) == 4
    assert said[0] == "one way: tcp 1 B to 4K ranks 0-1: 2.0 times as long back as there"
    assert said[-1] == "3 more paths likewise; see --format csv"
