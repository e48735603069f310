"""What ``show --flags`` prints, and the line under a table."""

import io

import msgspec
from rich.console import Console

from halftrip.report.flags import flagged, render_flags
from halftrip.report.rows import rows
from harness import runs


def printed(run):
    console = Console(file=io.StringIO(), width=400, highlight=False)
    console.print(render_flags(run))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def slow(transport="shm", **changes):
    return runs.measurement(transport, stopped="time", **changes)


def test_a_run_without_flags_says_so():
    assert printed(runs.run(runs.measurement(), runs.measurement("tcp"))) == [
        "no flags: none of the 2 rows gives a reason to doubt"
    ]
    assert printed(runs.run()) == ["no flags: none of the 0 rows gives a reason to doubt"]
    assert flagged(rows(runs.run(runs.measurement()))) == []


def test_each_flag_says_once_what_to_do_and_of_each_row_what_was_seen():
    environments = (runs.environment(0), runs.environment(1, oversubscribed=True))
    run = runs.run(
        slow("tcp", wait="block"), slow(), runs.measurement(size=64), environments=environments
    )
    up = "the time was up before the interval was within 1.0 %"
    assert printed(run) == [
        "not-converged: allow more time with --time, or ask for less with --ci",
        f"  shm spin 8: {up}",
        f"  tcp block 8: {up}",
        "",
        "oversubscribed: use no more ranks than cores; what is measured here is the scheduler",
        "  shm spin 8: rank 1 shares core 1 with another rank",
        "  shm spin 64: rank 1 shares core 1 with another rank",
        "  tcp block 8: rank 1 shares core 1 with another rank",
        "",
    ]
    assert flagged(rows(run)) == [
        "flags: 3 of 3 rows have some (not-converged 2, oversubscribed 3); show --flags says why"
    ]


def test_rows_that_differ_in_a_field_are_told_apart_by_it():
    one, other = slow(buffers="same"), slow(buffers="separate")
    lines = printed(runs.run(one, other))
    assert [line.split(":")[0] for line in lines[1:3]] == [
        "  shm spin same 8", "  shm spin separate 8",
    ]  # fmt: skip
    windows = [
        msgspec.structs.replace(
            one, case=msgspec.structs.replace(one.case, pattern="stream", window=window)
        )
        for window in (1, 64)
    ]
    lines = printed(runs.run(*windows))
    assert [line.split(":")[0] for line in lines[1:3]] == ["  shm spin 1 8", "  shm spin 64 8"]


def test_square_brackets_are_no_markup():
    """A name of a file format that is newer than this halftrip is printed as it stands."""
    assert printed(runs.run(slow("[bold]new[/bold]")))[1].startswith("  [bold]new[/bold] spin 8:")
