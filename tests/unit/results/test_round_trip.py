"""Records are read as they were written, arrays included, from files of every released version."""

import gc
import tracemalloc
from typing import get_args

import numpy as np
import pytest

from golden.formats import write
from halftrip.errors import NotARunError, UsageError
from halftrip.results.reading import FORMAT, decode
from halftrip.results.records import Measurement, Record
from halftrip.results.run_file import assemble, encode, load
from harness import runs
from harness.files import ROOT, module

ARRAYS = ("times", "peer_times", "receive_times", "peer_receive_times", "arrivals")
EVERY_KIND = [record for made in write.RUNS.values() for record in made()]


def test_every_record_is_read_as_it_was_written():
    """All that a run may have, down to the last field: see golden/formats/write.py."""
    for record in EVERY_KIND:
        assert decode(encode(record)) == record
    blocks = [
        block for each in EVERY_KIND if isinstance(each, Measurement) for block in each.blocks
    ]
    for block in blocks:
        again = decode(encode(runs.measurement(blocks=[block]))).blocks[0]
        for name in ARRAYS:
            array = getattr(again, name)
            assert isinstance(array, np.ndarray)
            assert array.dtype == np.int64
            assert np.array_equal(array, getattr(block, name))


def test_large_figures_and_odd_texts_are_read_as_they_were_written():
    times = [0, 1, (1 << 53) + 1]
    measurement = runs.measurement(samples=times, iterations=1, first=1 << 56)
    text = '\u2028\x00\ud7ff\U0010ffff"\\'
    for record in (measurement, runs.environment(0, host=text)):
        assert decode(encode(record)) == record
    assert decode(encode(measurement)).samples.tolist() == times


def test_blocks_are_compared_by_their_times_and_what_they_lack_is_not_written():
    (block,) = runs.blocks([1, 2, 3])
    assert block == runs.blocks([1, 2, 3])[0]
    assert block != runs.blocks([1, 2, 4])[0]
    assert block != runs.blocks([1, 2])[0]
    assert block != runs.blocks([1, 2, 3], peer_times=runs.times(1))[0]
    assert block != "a block"
    with pytest.raises(TypeError):
        hash(block)
    (block,) = runs.blocks([1, 2, 3], rtts=None)
    line = encode(runs.measurement(samples=[1, 2, 3], rtts=None))
    assert b'"blocks":[{"times":[1,2,3],"start":0' in line
    for name in ("peer_times", "receive_times", "timed_out", "delivery", "usage"):
        assert name.encode() not in line
    assert block.peer_times.size == 0


def test_loading_keeps_arrays_and_no_lists_of_numbers(tmp_path):
    """Of a file of many measurements only one line at a time is there as Python numbers."""
    samples, measured = 10_000, 20
    line = encode(runs.measurement(samples=range(10**9, 10**9 + samples), iterations=1))
    path = tmp_path / "run.jsonl"
    path.write_bytes(encode(runs.run().header) + measured * line)
    tracemalloc.start()
    try:
        run = load(path)
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    arrays = 8 * samples * measured
    assert arrays < kept < 1.1 * arrays
    # A number and its place in a list take 40 bytes; all of them would be five times the arrays.
    assert most < kept + 2 * 40 * samples
    lists = [each for each in gc.get_objects() if type(each) is list and len(each) >= samples]
    assert not any(type(each[0]) is int and each[0] == 10**9 for each in lists)
    assert len(run.measurements) == measured


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
