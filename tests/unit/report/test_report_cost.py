"""``show --cost``: what each row cost both ends."""

from halftrip.report.cost import render_cost
from harness import runs
from harness.screens import cells, printed

SPINS = runs.usage(1.0, 0.0, voluntary=0)
WORKS = runs.usage(0.5, 0.375, waited=0.01, core={"others": 0.25, "hertz": 3.1e9, "joules": 12.5})


def usage_of(*measurements):
    return printed(render_cost, runs.run(*measurements))


def test_each_end_of_a_row_has_a_line():
    lines = usage_of(runs.measurement(size=1000, usage=(SPINS, WORKS)))
    (initiator,) = (line for line in lines if "initiator 0" in line)
    (responder,) = (line for line in lines if "responder 1" in line)
    assert initiator.split()[-1] == "busy-poll"
    assert "busy-poll" not in responder
    assert initiator.split()[0] == "1000"
    assert responder.split()[:2] == ["responder", "1"]
    assert cells(lines, "load") == ["100.0", "50.0"]
    assert cells(lines, "system") == ["0.0", "37.5"]
    assert cells(lines, "in kernel") == ["0.0", "75.0"]
    # Half a second, or a whole one, for 4000 round trips of 1000 bytes.
    assert cells(lines, "CPU") == ["125", "62.5"]
    assert cells(lines, "frequency") == ["-", "3.10"]
    assert cells(lines, "energy") == ["-", "12.5"]
    assert any(line.startswith("energy:") for line in lines)


def test_figures_unknown_at_both_ends_have_no_column():
    lines = usage_of(runs.measurement(usage=(SPINS, SPINS)))
    heading = " ".join(lines[0].split())
    for column in ("waited", "others", "steal", "frequency", "instructions", "energy", "core"):
        assert column not in heading
    assert "load user system" in heading
    missing = "frequency GHz, energy J"
    assert f"not known here: core, waited, others, steal, {missing}" in lines
    assert "all 0: major faults" in lines
    assert not any(line.startswith("energy:") for line in lines)


def test_slices_are_added_and_suspect_samples_counted():
    lines = usage_of(
        runs.measurement(usage=(WORKS, WORKS), preemptions=[(2, 1)]),
        runs.measurement(usage=(WORKS, WORKS), slice=1, preemptions=[(0, 2)]),
    )
    assert cells(lines, "elapsed") == ["2.00", "2.00"]
    assert cells(lines, "others") == ["25.0", "25.0"]
    assert cells(lines, "suspect")[0] == "5"


def test_a_run_without_usage_says_so_and_rows_without_it_are_left_out():
    (line,) = usage_of(runs.measurement())
    assert line.startswith("no cost: ")
    lines = usage_of(runs.measurement("simulated"), runs.measurement("tcp", usage=(SPINS, WORKS)))
    assert not any("simulated" in line for line in lines)
    assert usage_of() == ["no cost: nothing was measured"]


def test_ends_that_wait_differently_are_named_as_in_the_table():
    waits = ("spin:block", "spin")
    lines = usage_of(*(runs.measurement("tcp", wait=w, usage=(SPINS, WORKS)) for w in waits))
    assert sorted(filter(None, cells(lines, "wait"))) == sorted(waits)
