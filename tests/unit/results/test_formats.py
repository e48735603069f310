"""Run files of every version of the format that was released are read; older ones are refused."""

from typing import get_args

import pytest

from golden.formats import write
from halftrip.analysis.rows import rows as rows_of
from halftrip.errors import NotARunError, UsageError
from halftrip.results.reading import FORMAT
from halftrip.results.records import Record
from halftrip.results.run_file import assemble, load
from harness.files import ROOT, module

GOLDEN = ROOT / "tests" / "golden" / "formats"
make_golden = module("scripts/make_golden.py")


@pytest.mark.parametrize("suffix", make_golden.SHOWN)
def test_a_file_prints_the_same_for_ever(suffix):
    """If it should not: make golden"""
    assert make_golden.shown(suffix) == (GOLDEN / f"1{suffix}").read_text()


@pytest.mark.parametrize("name", write.RUNS)
def test_what_is_read_is_what_was_written(name):
    made, *records = write.RUNS[name]()
    run = load(GOLDEN / f"{FORMAT}{name}.jsonl")
    assert run.problems == ()
    assert run == assemble(made, records), "tests/golden/formats/write.py has changed: make golden"


def test_the_files_have_every_kind_of_record():
    found = {type(each) for made in write.RUNS.values() for each in made()}
    assert found == set(get_args(Record))


def test_a_file_of_version_1_has_the_figures_that_were_chosen():
    run = load(GOLDEN / "1.jsonl")
    assert run.header.version == 1
    assert run.interrupted is None
    assert {m.launch for m in run.measurements} == {e.launch for e in run.environments} == {0, 1}
    moved = next(m for m in run.measurements if m.slice == 1)
    assert [block.times.size for block in moved.blocks] == [10, 10, 10]
    assert moved.blocks[2].times.tolist()[:3] == [49_700, 49_901, 50_852]
    assert moved.core_to_core_rtts == [149.0, 150.5, 300.0, 301.0]
    initiator, responder = moved.usage
    assert (initiator.involuntary, responder.involuntary) == (3, 6)
    counts, missing = run.counted_slices[0].ends
    assert (counts.instructions, counts.cycles, counts.counted) == (60_000, 20_000, "user")
    assert missing is None
    assert initiator.core.joules == 0.75
    assert responder.core.busiest_task.name == "stress (process 1234)"
    both = next(m for m in run.measurements if m.configuration.pattern == "bidirectional")
    assert both.receive_medians == (15_000.0, 20_000.5)
    assert (both.verified, both.configuration.concurrency) == (160, 2)
    stream = next(m for m in run.measurements if m.configuration.pattern == "stream")
    assert (stream.peer_median, stream.delivery.jitter) == (30_250.5, 1250.5)
    rows = {(row.configuration.transport, row.configuration.pattern): row for row in rows_of(run)}
    assert rows["udp", "pingpong"].delivery.lost == 2
    assert rows["tcp", "pingpong"].configuration.tuning.socket_buffer == 1 << 20
    assert rows["shm", "pingpong"].summary.samples == 70


@pytest.mark.parametrize("older", [1, 9, 10, 11])
def test_a_file_from_before_the_first_release_is_refused_by_a_line_of_its_own(tmp_path, older):
    path = tmp_path / "run.jsonl"
    path.write_text(f'{{"record":"run","format":{older},"halftrip":"0.1.0"}}\n{{"record":"end"}}\n')
    with pytest.raises(UsageError) as refused:
        load(path)
    # A directory is looked through for run files: this one is one.
    assert not isinstance(refused.value, NotARunError)
    assert str(refused.value) == (
        f"{path}: written before the first release of halftrip; it is not read"
    )
