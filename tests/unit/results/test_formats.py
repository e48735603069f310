"""Run files of every version of the format that was released are read; older ones are refused."""

from typing import get_args

import pytest

from golden.formats import write
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
