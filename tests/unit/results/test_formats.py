"""Run files of every older format are read, and print what they printed when they were new."""

import contextlib
import io
from pathlib import Path

import pytest

from halftrip.cli.show import Shown, show_runs
from halftrip.report.rows import rows as rows_of
from halftrip.results.run_file import FORMAT, load

GOLDEN = Path(__file__).parents[2] / "golden" / "formats"
VERSIONS = range(1, FORMAT)
VIEWS = {
    ".txt": {"wide": True},
    ".csv": {"format": "csv"},
    ".json": {"format": "json"},
    ".rtt.txt": {"rtt": True, "wide": True},
    **{f".{view}.txt": {"views": [view], "wide": True}
       for view in ("flags", "cost", "system-log")},
}  # fmt: skip
# What a run of this name in that directory printed.
EXPECTED = [
    (version, suffix)
    for version in VERSIONS
    for suffix in VIEWS
    if (GOLDEN / f"{version}{suffix}").exists()
]


@pytest.mark.parametrize(("version", "suffix"), EXPECTED)
def test_an_old_file_prints_the_same(version, suffix):
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        show_runs([str(GOLDEN / f"{version}.jsonl")], Shown(**VIEWS[suffix]))
    assert shown.getvalue() == (GOLDEN / f"{version}{suffix}").read_text()


def test_there_are_outputs_of_every_version_and_view():
    assert {version for version, _ in EXPECTED} == set(VERSIONS)
    assert {suffix for _, suffix in EXPECTED} == set(VIEWS)
    assert len(EXPECTED) == len(VERSIONS) * 4 + 3


@pytest.mark.parametrize("version", range(1, 4))
def test_files_without_launches_have_one(version):
    run = load(GOLDEN / f"{version}.jsonl")
    assert run.header.format == version
    assert run.problems == ()
    assert run.interrupted is None
    assert {m.launch for m in run.measurements} == {e.launch for e in run.environments} == {0}
    rows = {(row.configuration.pattern, row.configuration.size): row for row in rows_of(run)}
    assert len(rows) == (2 if version == 1 else 3)
    pingpong = rows["pingpong", 8]
    assert pingpong.slices == 2
    assert rows["pingpong", 64].core_to_core_rtt is None
    assert rows["pingpong", 64].summary.samples == 16
    assert len(run.failures) == len(run.aggregates) == version - 1


def test_a_file_of_format_4_keeps_blocks_usage_and_all_records():
    run = load(GOLDEN / "4.jsonl")
    assert run.problems == ()
    assert run.interrupted is None
    assert [len(records) for records in (
        run.environments, run.skips, run.measurements, run.failures, run.aggregates,
        run.copy_times, run.host_counters, run.notices,
    )] == [4, 2, 9, 1, 1, 2, 2, 1]  # fmt: skip
    assert {m.launch for m in run.measurements} == {0, 1}
    moved = next(m for m in run.measurements if m.slice == 1)
    assert [block.times.size for block in moved.blocks] == [10, 8, 8, 8]
    assert moved.core_to_core_rtts == [149.0, 150.5, 300.0, 301.0, 300.0]
    lost = [tuple(usage.involuntary for usage in block.usage) for block in moved.blocks]
    assert lost == [(1, 0), (0, 2), (0, 0), (1, 1)]
    initiator, responder = moved.usage
    assert (initiator.involuntary, responder.involuntary) == (2, 3)
    assert (initiator.instructions, initiator.cycles, initiator.counted) == (
        4_000_000, 2_000_000, "user",
    )  # fmt: skip
    assert initiator.core.joules == 0.75
    assert responder.core.busiest_task.name == "stress (process 1234)"
    both = next(m for m in run.measurements if m.configuration.pattern == "bidirectional")
    assert both.receive_medians == (15_000.0, 20_000.5)
    assert both.verified == 160
    assert both.configuration.concurrency == 2
    stream = next(m for m in run.measurements if m.configuration.pattern == "stream")
    assert stream.peer_median == 30_250.5
    assert stream.delivery.jitter == 1250.5
    assert [len(record.configurations) for record in run.host_counters] == [0, 2]
