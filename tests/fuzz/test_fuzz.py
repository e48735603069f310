"""Whatever strangers, files and command lines say, it is taken, or refused in a line that says what
is wrong: every input that has ever failed, and a thousand new ones of each kind."""

import msgspec
import pytest

from fuzz import greetings, imports, plans, run_files, trials
from fuzz.trials import Failure, Input
from harness.choice import extended

INPUTS = 1000
# Of these, so many are tried by the quick tests: a thousand of the four kinds together.
QUICK = 250
HARNESSES = [module.HARNESS for module in (greetings, imports, plans, run_files)]
EACH = pytest.mark.parametrize("harness", HARNESSES, ids=lambda harness: harness.name)


@pytest.fixture(autouse=True)
def _width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


def kinds(harness, folder, inputs=INPUTS):
    """The targets, and the errors, of what failed."""
    outcomes = harness.outcomes(0, 0, inputs, folder)
    return {
        (each.input.what, each.why.splitlines()[-1].partition(":")[0].rpartition(".")[2])
        for each in outcomes
        if isinstance(each, Failure)
    }


@EACH
@pytest.mark.parametrize("numbers", [range(QUICK), *extended(range(QUICK, INPUTS))], ids=str)
def test_drawn_inputs(harness, numbers, tmp_path):
    """The same in every session."""
    accepted = 0
    for number in numbers:
        (outcome,) = harness.outcomes(0, number, number + 1, tmp_path)
        if isinstance(outcome, Failure):
            pytest.fail(f"{harness.keep(outcome.input)}:\n{outcome.why}")
        accepted += outcome
    assert 0 < accepted < len(numbers)


@pytest.mark.parametrize(
    ("harness", "path"),
    [
        pytest.param(harness, path, id=f"{harness.name}-{path.name}")
        for harness in HARNESSES
        for path in harness.cases()
    ],
)
def test_what_failed_once(harness, path, tmp_path):
    assert not isinstance(harness.outcome(trials.case(path), tmp_path), Failure)


@pytest.mark.extended
@pytest.mark.parametrize("number", range(len(run_files.seeds())))
def test_a_file_that_nobody_changed_is_shown_in_all_forms(number, tmp_path):
    content = b"".join(run_files.seeds()[number])
    assert run_files.HARNESS.outcome(Input("jsonl", content), tmp_path) is True


def test_a_case_is_kept_and_found_again(tmp_path, monkeypatch):
    monkeypatch.setattr(trials, "_CASES", tmp_path)
    tried = Input("nccl-tests", b"text\n")
    path = imports.HARNESS.keep(tried)
    assert imports.HARNESS.cases() == [path]
    assert trials.case(path) == tried


# A harness that finds nothing may be blind.


def test_what_is_right_is_taken(tmp_path):
    for target, (_, seeds) in greetings.TARGETS.items():
        assert greetings.HARNESS.outcome(Input(target, seeds[0]), tmp_path) is True


def test_defects_of_the_protocol_are_found(tmp_path, monkeypatch):
    """Where errors of texts and of depth are not caught, and where any proof is believed."""
    # That of a text that is not UTF-8 has the class DecodeError from msgspec 0.23 on.
    with pytest.raises(ValueError, match=r"(?i)utf-8") as wrong_text:
        msgspec.json.decode(b'"\xff"')
    monkeypatch.setattr("halftrip.control.protocol._MALFORMED", (msgspec.ValidationError,))
    names = {name for _, name in kinds(greetings.HARNESS, tmp_path, 3 * INPUTS)}
    assert {wrong_text.type.__name__, "RecursionError"} <= names
    monkeypatch.undo()
    monkeypatch.setattr(greetings.greeting, "_check_proof", lambda *arguments: None)
    found = kinds(greetings.HARNESS, tmp_path)
    assert {("claim", "Failed"), ("answer", "Failed"), ("challenge", "Failed")} <= found


def crash(*arguments, **options):
    raise ZeroDivisionError


def loop(*arguments):
    while True:
        pass


FILE = Input("jsonl", b"".join(run_files.seeds()[0]))
TEXT = Input(imports.ANY, b"".join(imports.texts()[0]))


@pytest.mark.parametrize(
    ("module", "tried", "name", "defect", "error"),
    [
        (run_files, FILE, "show", crash, "ZeroDivisionError"),
        (run_files, FILE, "show_runs", crash, "ZeroDivisionError"),
        (imports, TEXT, "import_texts", crash, "ZeroDivisionError"),
        (imports, TEXT, "load", crash, "ZeroDivisionError"),
        (imports, TEXT, "show", crash, "ZeroDivisionError"),
        (imports, TEXT, "export", crash, "ZeroDivisionError"),
        (imports, TEXT, "import_texts", loop, "SlowError"),
        (plans, Input("toml", b""), "make_plan", crash, "ZeroDivisionError"),
    ],
)
def test_the_harness_notices_what_fails(module, tried, name, defect, error, tmp_path, monkeypatch):
    monkeypatch.setattr(module, name, defect)
    failure = module.HARNESS._replace(slowest=0.2 if defect is loop else 10).outcome(
        tried, tmp_path
    )
    assert error in failure.why


def test_the_harness_notices_a_run_file_that_says_something_else(tmp_path, monkeypatch):
    written = imports.decode
    monkeypatch.setattr(
        imports, "decode", lambda line: written(line.replace(b'"tool":"', b'"tool":"x'))
    )
    assert "AssertionError" in imports.HARNESS.outcome(TEXT, tmp_path).why
