"""A whole plan whose ranks are threads: its records, and what it leaves changed in its caller."""

import gc
import os

import pytest

from halftrip.results.records import Environment, Measurement, RunEnd
from harness.plans import skip_baselines, walk


@pytest.fixture(autouse=True)
def _no_baselines(monkeypatch):
    skip_baselines(monkeypatch)


@pytest.mark.parametrize("cores", [None, "none"])
@pytest.mark.parametrize("enabled", [True, False])
def test_the_caller_gets_back_its_cores_and_its_collector(cores, enabled):
    before = os.sched_getaffinity(0)
    frozen = gc.get_freeze_count()
    (gc.enable if enabled else gc.disable)()
    try:
        records, after = walk(cores)
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
    assert after == {0: before, 1: before}
    assert gc.get_freeze_count() == frozen
    assert len(records.of(Measurement)) == 2
    assert isinstance(records.all[-1], RunEnd)


def test_without_cores_of_their_own_ranks_record_none():
    records, _ = walk("none")
    assert [environment.core for environment in records.of(Environment)] == [None, None]
    pinned, _ = walk(None)
    assert all(environment.core is not None for environment in pinned.of(Environment))
