"""No text, whatever is in it, makes an import, or what is shown of it, fail other than in a line
that says what is wrong."""

import time

import pytest

from fuzz import imports, run_files

# Seconds that the drawn inputs may take in all.
SECONDS = 20


@pytest.fixture(autouse=True)
def _width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.parametrize("case", sorted(imports.CASES.glob("*.*")), ids=lambda path: path.name)
def test_what_failed_once(case, tmp_path):
    assert imports.failure_of(imports.case(case), tmp_path / "run.jsonl", every=True) is None


def test_texts_that_nobody_changed(tmp_path):
    for lines in imports.seeds():
        tried = imports.Input(b"".join(lines), None, 0)
        assert imports.outcome(tried, tmp_path / "run.jsonl", every=True) == (None, True)


def test_drawn_inputs(tmp_path):
    texts = imports.seeds()
    end = time.monotonic() + SECONDS
    # The same inputs in every session, as many of them as there is time for.
    number, accepted = 0, 0
    while time.monotonic() < end:
        tried = imports.input_of(0, number, texts)
        failure, was_accepted = imports.outcome(tried, tmp_path / "run.jsonl")
        assert failure is None, imports.keep(tried)
        accepted += was_accepted
        number += 1
    assert number > accepted > 0


def test_a_number_gives_its_input_again():
    texts = imports.seeds()
    inputs = [imports.input_of(1, number, texts) for number in range(50)]
    assert inputs == [imports.input_of(1, number, texts) for number in range(50)]
    assert len(set(inputs)) > 40


def _first_sample():
    return imports.Input(b"".join(imports.seeds()[0]), None, 0)


@pytest.mark.parametrize("name", ["imported", "load", "show", "export_run"])
def test_the_harness_notices_what_fails(name, tmp_path, monkeypatch):
    def crash(*arguments, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(imports, name, crash)
    failure = imports.failure_of(_first_sample(), tmp_path / "run.jsonl")
    assert "ZeroDivisionError" in failure.why


def test_the_harness_notices_a_run_file_that_says_something_else(tmp_path, monkeypatch):
    written = imports.decode
    monkeypatch.setattr(
        imports, "decode", lambda line: written(line.replace(b'"tool":"', b'"tool":"x'))
    )
    failure = imports.failure_of(_first_sample(), tmp_path / "run.jsonl")
    assert "AssertionError" in failure.why


def test_the_harness_ends_a_loop_without_end(tmp_path, monkeypatch):
    def loop(*arguments):
        while True:
            pass

    monkeypatch.setattr(run_files, "SLOWEST", 0.2)
    monkeypatch.setattr(imports, "imported", loop)
    failure = imports.failure_of(_first_sample(), tmp_path / "run.jsonl")
    assert "SlowError" in failure.why


def test_a_case_is_kept_and_found_again(tmp_path, monkeypatch):
    monkeypatch.setattr(imports, "CASES", tmp_path / "cases")
    for tool in (None, "nccl-tests"):
        tried = imports.Input(b"text\n", tool, 0)
        assert imports.case(imports.keep(tried)) == tried
