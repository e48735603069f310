"""Greetings and messages of strangers are refused, whatever they say; every input that has ever
failed, and new ones."""

import msgspec
import pytest

from fuzz import greetings
from fuzz.greetings import ANSWER, CASES, CLAIM, TARGETS, framed, try_input, try_many

KEPT = sorted(path for path in CASES.iterdir() if not path.name.startswith("."))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_what_failed_once_does_not_fail_again(path):
    try_input(path.name.partition("-")[0], path.read_bytes())


@pytest.mark.parametrize("seed", range(1, 9))
def test_nothing_that_strangers_say_is_believed_or_raises_another_error(seed):
    failures = try_many(40_000, seed)
    assert failures == []


def test_what_is_tried_is_not_refused_because_of_the_trial():
    """The seeds themselves are let in."""
    for target, (_, seeds) in TARGETS.items():
        for seed in seeds:
            try_input(target, seed)
    with_failure = greetings.Visitor(greetings.TOKEN, 2, {greetings.GUEST})
    with_failure._nonce = greetings.NONCE
    for part in (framed(CLAIM), framed(ANSWER)):
        with_failure.feed(part[:4])
        with_failure.feed(part[4:])
    assert with_failure.proven


def test_a_defect_would_be_found(monkeypatch):
    """Where errors of texts and of depth are not caught, and where any proof is believed."""
    monkeypatch.setattr("halftrip.control.protocol._MALFORMED", (msgspec.DecodeError,))
    kinds = {type(error).__name__ for _, _, error in try_many(20_000, 1)}
    assert {"UnicodeDecodeError", "RecursionError"} <= kinds
    monkeypatch.undo()
    monkeypatch.setattr(greetings.greeting, "_check_proof", lambda *arguments: None)
    kinds = {(name, type(error).__name__) for name, _, error in try_many(20_000, 1)}
    assert {("claim", "Failed"), ("answer", "Failed"), ("challenge", "Failed")} <= kinds
