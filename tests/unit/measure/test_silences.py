"""What gets no answer is not waited for twice."""

import pytest

from halftrip.measure.pair import Unanswered
from halftrip.results.configuration import Tuning
from halftrip.transports.base import Problem
from harness.runs import configuration

SILENT = Problem("nothing came", silent=True)
FULL = Problem("not acknowledged", silent=True, segment=1448)


def of(size, window=1, transport="tcp", **tuning):
    return configuration(transport, size, window=window, tuning=Tuning(**tuning))


@pytest.fixture
def silences():
    return Unanswered()


def test_what_is_as_large_or_larger_is_refused_with_the_same_reason_but_for_other_windows(silences):
    silences.add(of(4096), SILENT)
    assert of(4096) in silences
    assert of(8192) not in silences
    for larger in (of(4096), of(8192), of(8192, window=64)):
        assert silences.refusal(larger) == "nothing came"
    for other in (of(4095), of(8192, transport="udp"), of(8192, mss=536)):
        assert silences.refusal(other) is None
    silences.add(of(65536), FULL)
    assert silences.refusal(of(1448)) == "not acknowledged"
    assert silences.refusal(of(1447)) is None
    # A short message says nothing of full segments.
    silences.add(of(8, transport="unix"), FULL)
    assert silences.refusal(of(7, transport="unix")) is None
    assert silences.refusal(of(8, transport="unix")) == "not acknowledged"


def test_a_window_may_pass_where_a_longer_one_does_not(silences):
    silences.add(of(1024, window=64), SILENT)
    assert silences.refusal(of(1024)) is None
    assert silences.refusal(of(2048, window=16)) is None
    assert silences.refusal(of(2048, window=64)) == "nothing came"


def test_advice_is_of_what_has_passed(silences):
    assert "firewall" in silences.advice(of(8), SILENT)
    assert silences.advice(of(2048), FULL).startswith("smaller ones pass: does a hop")
    # What fills a segment, and what does not.
    assert "firewall" not in silences.advice(of(724, window=2), FULL)
    assert "firewall" in silences.advice(of(1447), FULL)
    silences.passed(of(1024))
    silences.passed(of(8))
    assert silences.advice(of(2048), SILENT).startswith("1K passes: does a hop")
    assert "forgotten the connection" in silences.advice(of(1024), FULL)
    # Of another transport nothing is known.
    assert "firewall" in silences.advice(of(2048, transport="udp"), SILENT)
