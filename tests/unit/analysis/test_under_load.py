"""What traffic beside a path does to messages, of runs whose truth is known."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.analysis.rows import rows
from halftrip.analysis.under_load import implied_queue, under_load
from halftrip.report.document import document
from halftrip.stats.estimate import Estimate
from halftrip.views.screen import first_screen
from halftrip.views.under_load import queue_fields
from harness import runs
from harness.screens import text


def near(value, share=0.01):
    return Estimate(value, value * (1 - share), value * (1 + share))


@given(st.floats(1e3, 1e7), st.floats(5e3, 1e8), st.integers(1, 2))
def test_a_queue_is_told_by_its_length_and_what_passes_meanwhile(idle, size, directions):
    """`size` bytes wait in each direction, over a link of a known rate."""
    waits = size / runs.LINK * 1e9 * directions
    beside = runs.traffic(runs.LINK * directions)
    loaded = near(idle + waits / 2)
    found = implied_queue(near(idle), loaded, 2, beside, directions)
    if found is None:
        # Its interval reaches what two frames explain.
        half = 2 * math.hypot(0.01 * (idle + waits / 2), 0.01 * idle) * runs.LINK * 1e-9
        assert size * directions - half < 3001
        return
    assert found.ns.value == pytest.approx(waits)
    assert found.bytes.value == pytest.approx(size * directions)
    assert found.ns.low <= waits <= found.ns.high


@pytest.mark.parametrize(
    ("idle", "loaded", "beside"),
    [
        (near(20e3), near(20e3), runs.traffic()),
        # Two frames, chance, no interval, and threads that wait for a core.
        (near(20e3), near(130e3), runs.traffic()),
        (near(20e3), Estimate(5e6, 10e3, 9e6), runs.traffic()),
        (Estimate(20e3), Estimate(5e6), runs.traffic()),
        (near(20e3), near(5e6), runs.traffic(load=0.9)),
    ],
)
def test_what_is_no_queue_is_not_called_one(idle, loaded, beside):
    assert implied_queue(idle, loaded, 2, beside) is None


def test_the_first_screen_says_how_much_longer_messages_take_and_the_queue():
    run = runs.beside_traffic()
    made = rows(run)
    (found,) = under_load(made, run.names)
    assert found.factor.low <= 5.0 <= found.factor.high
    # A round trip is 8 ms longer.
    assert found.standing.bytes.value == pytest.approx(8e-3 * runs.LINK, rel=0.02)
    assert 1.0 < found.full.ns.value / found.standing.ns.value < 1.05
    assert found.full_by == "p99"
    (fields,) = queue_fields(document(run))
    assert fields["hosts"] == ["n1", "n2"]
    assert fields["standing_bytes"] == pytest.approx(found.standing.bytes.value)
    assert fields["full_low_ns"] <= fields["full_ns"] <= fields["full_high_ns"]
    shown = text(first_screen, run)
    assert "x idle" in shown
    assert "pass (the median); by p99: 8" in " ".join(shown.split())
    assert "12.5" in shown
    assert "queue: tcp stream:tcp:64K, 64 B: a round trip takes 8" in shown
    # Traffic makes no path slower than another.
    assert "as fast as" not in shown


@pytest.mark.parametrize("lost", [1, 20])
def test_a_message_that_was_sent_again_is_not_how_long_a_queue_is(lost):
    """It has waited for a timeout, too."""
    run = runs.beside_traffic(lost=lost)
    (found,) = under_load(rows(run), run.names)
    assert 1.0 < found.full.ns.value / found.standing.ns.value < 1.05
    samples = run.measurements[0].samples.size
    assert found.sent_again == pytest.approx(lost / samples)
    assert queue_fields(document(run))[0]["sent_again_share"] == pytest.approx(lost / samples)
    assert " % that were sent again" in " ".join(text(first_screen, run).split())


@pytest.mark.parametrize(("samples", "name"), [(2, "p90"), (1, "longest")])
def test_of_few_messages_the_full_queue_is_told_by_one_of_ten(samples, name):
    """The longest may have waited for the machine, too."""
    run = runs.beside_traffic(samples=samples, late=2_000_000)
    (found,) = under_load(rows(run), run.names)
    assert found.full_by == name
    assert (found.full.ns.value / found.standing.ns.value < 1.05) == (name == "p90")
    assert "nan" not in text(first_screen, run)


def test_what_threads_that_are_busy_hide_is_said():
    said = " ".join(text(first_screen, runs.beside_traffic(load=0.86)).split())
    assert "64 B: cannot be told: the background was busy for 86 % of the time of a core" in said


def test_within_a_host_there_is_no_queue_and_shared_cores_are_said():
    run = runs.beside_traffic(hosts=("n1", "n1"), own_cores=False)
    (found,) = under_load(rows(run), run.names)
    assert found.standing is None
    shown = text(first_screen, run)
    assert "queue:" not in shown
    assert "There was no core left for the background" in " ".join(shown.split())
