"""The first screen of a run, and why its rows are not ok."""

import numpy as np

from halftrip.report.document import document
from halftrip.results.records import RunEnd, Skip
from halftrip.results.usage import BusiestTask
from halftrip.views import screen
from halftrip.views.overview import has_overview
from halftrip.views.screen import first_screen
from halftrip.views.why import why
from harness import runs
from harness.files import golden
from harness.screens import text_of

SIZES = (1, 8, 64, 1024, 65536, 1 << 20)


def slices(transport, size, half_ns, wander=0.004, **changes):
    """Ten slices whose medians differ by this share."""
    levels = np.random.default_rng(size).permutation(np.linspace(-1, 1, 10))
    wait = changes.pop("wait", "spin" if transport == "shm" else "block")
    levels = half_ns * (1 + wander * levels)
    return runs.slices(transport, size, wait, levels=levels, rtts=(60.0, 61.0), **changes)


def made(**changes):
    """A run of shm, tcp and udp: the first is calm, the second wanders, the third lacks a size."""
    shm = [slices("shm", size, 50.0 + size / 20) for size in SIZES]
    tcp = [slices("tcp", size, 9000.0 + size / 4, wander=0.06) for size in SIZES]
    udp = [slices("udp", size, 8000.0 + size / 2, wander=0.3) for size in SIZES[:5]]
    every = [each for configuration in (*shm, *tcp, *udp) for each in configuration]
    values = {
        "skips": (Skip(transport="udp", reason="a datagram is smaller", sizes=[1 << 20]),),
        "end": RunEnd(reason=None, seconds=38.2, timed=30.0, clock_drift=[0.1, 0.2]),
    }
    return runs.run(*every, **(values | changes))


def test_the_whole_screen():
    content = document(made(), flags=False)
    assert has_overview(content.rows)
    shown = text_of(first_screen(content, "RUN"), 80)
    assert shown == golden("overview-80.txt", shown)
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)


def test_why_rows_are_not_ok():
    shown = text_of(why(document(made(), flags=False)), 80)
    assert shown == golden("why-80.txt", shown)
    # What is missing is said before the verdict.
    run = made(end=RunEnd(reason="stopped by SIGINT"))
    shown = text_of(first_screen(document(run, flags=False)), 100)
    assert "not measured: udp 1M: a datagram is smaller\ninterrupted: stopped by SIGINT\n" in shown


def test_few_sizes_one_path_or_several_pairs_have_their_table():
    few = [*slices("shm", 8, 50.0), *slices("tcp", 8, 50.0)]
    one = [each for size in SIZES for each in slices("shm", size, 50.0)]
    pairs = [*one, *(each for size in SIZES for each in slices("shm", size, 50.0, pair=(2, 3)))]
    for measured in (few, one, pairs):
        assert not has_overview(document(runs.run(*measured)).rows)


def moving(line_of):
    """Twelve rows whose slices differ by up to a fifth; `line_of` makes the core-to-core round trip
    of a slice from its level and a generator."""
    generator = np.random.default_rng(7)
    made = []
    for transport, size in [(t, s) for t in ("shm", "tcp") for s in SIZES]:
        wait = "spin" if transport == "shm" else "block"
        for n, level in enumerate(generator.normal(1, 0.1, 10)):
            line = line_of(level, generator)
            made.append(
                runs.measurement(
                    transport, size, wait, 2000.0 * level, seed=n, slice=n, rtts=(line, line)
                )
            )
    return runs.run(*made, environments=runs.VIRTUAL)


def trust_of(run):
    shown = text_of(first_screen(document(run, flags=False), "a.jsonl"), 300)
    return next(line for line in shown.splitlines() if line.startswith("Trust")), shown


def test_rows_that_go_with_the_cores_say_so_together_and_others_do_not():
    said, shown = trust_of(moving(lambda level, random: 100 * (level + random.normal(0, 0.1))))
    assert "The cores moved: in " in said
    assert "of 12 rows the level goes with the core-to-core round trip" in said
    assert "Do:    keep to one state with --placement-state near, or far\n" in shown
    said, shown = trust_of(moving(lambda level, random: random.normal(100, 10)))
    assert ("level wandered" in said, "cores moved" in said) == (True, False)
    assert "; then halftrip run --resume a.jsonl --again caution,no\n" in shown


def busy(size, wander, others, task=None):
    """Slices of a row, for most of whose time other programs had a core."""
    core = {"others": others, "busiest_task": task}
    return slices("tcp", size, 9000.0, wander, usage=(runs.usage(core=core), runs.usage(core={})))


def test_the_example_of_contention_is_a_row_that_names_a_program():
    task = BusiestTask(name="stress (process 9)", share=0.6)
    said, _ = trust_of(runs.run(*busy(8, 0.3, 0.8), *busy(64, 0.02, 0.6, task)))
    assert "2 rows: CPU contention; tcp 64 B: other programs had" in said
    assert "stress (process 9)" in said


def test_a_run_whose_rows_can_have_no_interval_is_not_to_be_measured_again():
    single = runs.planned(slices=1, launches=1)
    assert "--again" not in trust_of(runs.run(*slices("tcp", 8, 9000.0)[:1], header=single))[1]


def test_messages_per_second_are_of_one_size_on_all_paths():
    """Where streams of several sizes were measured beside the ping-pong, of the smallest."""
    latency = [m for name in ("shm", "tcp") for size in SIZES for m in slices(name, size, 50.0)]
    stream = {"pattern": "stream", "window": 64}
    rates = [m for n in ("shm", "tcp") for s in (8, 1024) for m in slices(n, s, 10.0, **stream)]
    shown = text_of(first_screen(document(runs.run(*latency, *rates), flags=False)), 120)
    heading = next(line for line in shown.splitlines() if line.startswith("transport"))
    assert "messages 8 B" in heading
    # Paths are named by what tells them apart.
    waits = [
        m for size in SIZES for w in ("block", "spin") for m in slices("tcp", size, 9.0, wait=w)
    ]
    lines = text_of(first_screen(document(runs.run(*waits), flags=False)), 100).splitlines()
    for name in ("tcp block", "tcp spin"):
        assert sum(line.startswith(name) for line in lines) == 2


def test_the_way_on_can_be_typed_as_it_stands():
    one = [m for size in SIZES for m in slices("tcp", size, 9000.0, wander=0.06)]
    for reason, said in ((None, " --again caution"), ("stopped by SIGINT", "\n")):
        content = document(runs.run(*one, end=RunEnd(reason=reason)), flags=False)
        shown = text_of(first_screen(content, "a run.jsonl"), 200)
        assert f"run --resume 'a run.jsonl'{said}" in shown
        # With --resume, no other option is taken.
        do = shown[shown.index("Do:") : shown.index("More:")]
        assert "--slices" not in do


def test_no_advice_before_a_run_goes_on_needs_a_new_run(monkeypatch):
    one = [m for size in SIZES for m in slices("tcp", size, 9000.0, wander=0.06)]
    content = document(runs.run(*one), flags=False)
    for said, left in (
        ("stop them, or choose other cores with --cores", "stop them"),
        ("look for a second path, a timer, or another process",) * 2,
    ):
        monkeypatch.setattr(screen, "advice", lambda _, said=said: said)
        assert screen.to_do(content, "a.jsonl").startswith(f"{left}; then halftrip run --resume a")
        assert screen.to_do(content, None) == said
        # Of a part of a run, nothing is measured again alone.
        assert "--resume" not in text_of(first_screen(content), 200)
