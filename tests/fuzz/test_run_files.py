"""No run file, whatever is in it, makes `halftrip show` or `halftrip.load` fail other than in a
line that says what is wrong."""

import random
import time

import pytest

from fuzz import run_files

# Seconds that the drawn inputs may take in all.
SECONDS = 20


@pytest.mark.parametrize(
    "case", sorted(run_files.CASES.glob("*.jsonl")), ids=lambda path: path.stem
)
def test_what_failed_once(case, tmp_path):
    content = case.read_bytes()
    assert run_files.failure_of(content, tmp_path / "run.jsonl") is None


def test_files_that_nobody_changed(tmp_path):
    for lines in run_files.seeds():
        assert run_files.failure_of(b"".join(lines), tmp_path / "run.jsonl") is None


def test_drawn_inputs(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    files = run_files.seeds()
    end = time.monotonic() + SECONDS
    # The same inputs in every session, as many of them as there is time for.
    number = 0
    while time.monotonic() < end:
        content = run_files.input_of(0, number, files)
        draw = random.Random(number)
        failure = run_files.failure_of(content, tmp_path / "run.jsonl", 1, draw)
        assert failure is None, run_files.keep(failure)
        number += 1
    assert number > 0


def test_the_harness_notices_what_fails(tmp_path, monkeypatch):
    def crash(path):
        raise ZeroDivisionError

    monkeypatch.setattr(run_files.api, "load", crash)
    failure = run_files.failure_of(b"anything", tmp_path / "run.jsonl")
    assert failure.content == b"anything"
    assert "ZeroDivisionError" in failure.why


def test_a_number_gives_its_input_again():
    files = run_files.seeds()
    inputs = [run_files.input_of(1, number, files) for number in range(50)]
    assert inputs == [run_files.input_of(1, number, files) for number in range(50)]
    assert len(set(inputs)) > 40
