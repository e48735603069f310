"""``halftrip show`` finds out once what it shows."""

from collections import Counter

import pytest

from halftrip.analysis import flags, states, summaries
from halftrip.stats import series
from harness import runs
from harness.moving import moving
from harness.shell import call


@pytest.mark.parametrize("options", [(), ("--expect", "latency=1ms"), ("--why",), ("-j",)])
def test_medians_and_states_are_computed_once(tmp_path, monkeypatch, options):
    run = moving(launches=4)
    runs.save(run, tmp_path / "a.jsonl")
    calls = Counter()

    def counted(module, name):
        function = getattr(module, name)

        def call_it(*args, **named):
            calls[name] += 1
            return function(*args, **named)

        monkeypatch.setattr(module, name, call_it)

    def counts_slices(module):
        function = module.slice_times

        def call_it(slices, *args):
            some = list(slices)
            calls["slices"] += len(some)
            return function(some, *args)

        monkeypatch.setattr(module, "slice_times", call_it)

    counts_slices(series)
    counts_slices(flags)
    counted(states, "levels")
    counted(summaries.series, "configuration_times")
    result = call(tmp_path, "show", "a.jsonl", *options)
    assert result.status == 0
    of_states = 3  # shm has two, tcp none
    assert (calls["slices"], calls["levels"]) == (len(run.measurements), 1)
    assert calls["configuration_times"] == 1 + of_states
