"""``show --flags``."""

from halftrip.report.flags import render_flags
from harness import runs
from harness.screens import printed


def flags_of(*measurements, **changes):
    return printed(render_flags, runs.run(*measurements, **changes))


def slow(transport="shm", **changes):
    return runs.measurement(transport, **changes)


def calm(transport="shm", **changes):
    return [runs.measurement(transport, slice=n, seed=n, **changes) for n in range(6)]


def test_a_run_without_flags_says_so():
    assert flags_of(*calm(), *calm("tcp")) == [
        "no flags: none of the 2 rows gives a reason to doubt"
    ]


def test_each_flag_has_its_advice_once_and_a_line_for_each_row():
    run = runs.run(
        slow("tcp", wait="block"), slow(), *calm(size=64),
        environments=(runs.environment(0), runs.environment(1, oversubscribed=True)),
    )  # fmt: skip
    alone = "one slice of time: no interval, as nothing tells how another one would come out"
    assert printed(render_flags, run) == [
        "not-converged: allow more time with --time and --slices, or ask for less with --ci",
        f"  shm spin 8: {alone}",
        f"  tcp block 8: {alone}",
        "",
        "oversubscribed: use no more ranks than cores; what is measured here is the scheduler",
        "  shm spin 8: rank 1 shares core 1 with another rank",
        "  shm spin 64: rank 1 shares core 1 with another rank",
        "  tcp block 8: rank 1 shares core 1 with another rank",
        "",
    ]


def test_rows_are_named_by_the_fields_in_which_they_differ():
    def names(*measurements):
        return [line.split(":")[0] for line in flags_of(*measurements)[1:3]]

    by_window = names(*(slow(pattern="stream", window=window) for window in (1, 64)))
    assert by_window == ["  shm window 1 8", "  shm window 64 8"]
    windows = ((places, touch) for places in ("own", "same") for touch in ("none", "timed"))
    by_places = names(*(
        slow(pattern="put", mode="onesided", window=64, places=places, touch=touch)
        for places, touch in windows
    ))  # fmt: skip
    assert by_places == ["  shm own none 8", "  shm own timed 8"]
    # The name of an unknown transport is printed as it stands.
    assert flags_of(slow("[bold]new[/bold]"))[1].startswith("  [bold]new[/bold] 8:")
