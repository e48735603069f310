"""A whole plan, measured by ranks that are threads of this process."""

import os

import pytest

from halftrip.errors import UsageError
from halftrip.measure.bounds import Probed
from halftrip.measure.runner import Runner
from halftrip.plan.layers import file_layer, make_plan, python_layer
from halftrip.results.reading import decode
from halftrip.transports.base import ProcessContext
from harness.groups import TOKEN, on_ranks


def mistake(make):
    """What is said of the mistake that `make` finds, in one line."""
    with pytest.raises(UsageError) as caught:
        make()
    said = str(caught.value)
    assert "\n" not in said
    return said


def mistake_in_file(directory, text):
    """What is said of a plan file with this text, without its name, which comes first."""
    path = directory / "plan.toml"
    path.write_text(text)
    name, _, said = mistake(lambda: make_plan(file_layer(path))).partition(": ")
    assert name == str(path)
    return said


class Records:
    """Rank 0's records. `progress_shown` is what it reported of its progress."""

    def __init__(self):
        self.all = []
        self.ends = []
        self.progress_shown = []

    def lines(self, lines, last=False):
        assert lines.endswith(b"\n")
        self.all += [decode(line) for line in lines.splitlines()]
        self.ends.append(last)

    def progress(self, done, total, what):
        self.progress_shown.append((done, total, what))

    def before_slice(self, setting):
        """Nothing waits for this."""

    def of(self, kind):
        return [record for record in self.all if isinstance(record, kind)]


def walk(cores=None, ranks=2, **keys):
    """So many ranks walk through a small plan, on these cores. The records, and the cores that each
    thread may use after it."""
    times = {} if "iterations" in keys else {"time": "5ms"}
    keys = {"transport": "pipe", "sizes": "8,64"} | times | keys
    if ranks != 2:
        keys["ranks"] = ranks
    plan = make_plan(python_layer(keys if cores is None else keys | {"cores": cores}))
    records = Records()
    after = {}

    def take_part(rank, group):
        Runner(plan, group, ProcessContext.from_plan(plan, rank, TOKEN), records).run()
        after[rank] = os.sched_getaffinity(0)

    on_ranks(ranks, take_part, plan.threads)
    return records, after


class KnownProbe:
    """In place of a CacheLineProbe: the round trip takes 100 ns. A real one takes seconds where
    something else runs on its cores."""

    def __init__(self, segment, clock, poll_pause):
        pass

    def initiate(self):
        return Probed(100.0)

    def respond(self):
        pass


def skip_baselines(monkeypatch):
    """Cache lines and copies are not timed."""
    monkeypatch.setattr("halftrip.measure.pair.CacheLineProbe", KnownProbe)
    monkeypatch.setattr("halftrip.measure.bounds.COPY_SIZES", ())
