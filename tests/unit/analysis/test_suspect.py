"""Which samples were probably taken while an end had lost its core."""

import numpy as np

from halftrip.analysis.suspect import count_suspect, suspect
from harness import runs

QUIET = runs.usage()


def made(samples, *ends, **changes):
    return runs.measurement(iterations=1, samples=samples, usage=ends or None, **changes)


def suspects(*arguments, **changes):
    """The numbers of the suspect samples."""
    return np.flatnonzero(suspect(made(*arguments, **changes))).tolist()


def spikes(**heights):
    """Twenty samples of 1 us, but for those that are named, as ``s3=9_001_000``."""
    samples = [1000] * 20
    for name, ns in heights.items():
        samples[int(name[1:])] = ns
    return samples


def test_the_count_is_unknown_where_no_usage_is_known():
    assert count_suspect([runs.measurement()]) is None
    assert count_suspect([runs.measurement(usage=(QUIET, QUIET))]) == 0
    assert count_suspect([runs.measurement(), runs.measurement(usage=(QUIET, QUIET))]) == 0


def test_each_preemption_makes_the_longest_sample_of_its_block_suspect():
    samples = [100, 900, 100, 800, 100, 100, 700, 100, 600, 100]
    two = {"counts": [5, 5], "preemptions": [(1, 0), (0, 1)]}
    assert suspects(samples, QUIET, QUIET, **two) == [1, 6]
    # Only samples longer than the median of all.
    many = {"counts": [5, 5], "preemptions": [(5, 5), (0, 0)]}
    assert suspects(samples, QUIET, QUIET, **many) == [1, 3]


def test_stolen_time_makes_as_many_samples_suspect_as_it_explains():
    samples = spikes(s3=9_001_000, s7=5_001_000, s9=4_001_000, s11=1500)
    assert suspects(samples, QUIET, runs.usage(core={"steal": 0.014})) == [3, 7]
    # With more of it, all that exceed the median by another median.
    assert suspects(samples, QUIET, runs.usage(core={"steal": 1.0})) == [3, 7, 9]
    assert suspects(samples, QUIET, QUIET) == []
    assert suspects([], QUIET, QUIET) == []


def test_time_waited_for_a_core_is_explained_once():
    samples = spikes(s3=9_001_000, s7=5_001_000, s9=4_001_000)
    waited = runs.usage(1.0 - 0.0145, 0.0, voluntary=0, involuntary=9, waited=0.0145, core={})
    assert suspects(samples, waited, QUIET, preemptions=[(0, 0)]) == [3, 7]
    # The longest is explained by a preemption; what is left of the time explains one more.
    assert suspects(samples, waited, QUIET, preemptions=[(1, 0)]) == [3, 7]
    assert suspects(samples, waited, QUIET, preemptions=[(1, 2)]) == [3, 7, 9]


def test_waiting_at_a_wake_up_is_no_loss_unless_others_had_the_core():
    samples = spikes(s3=9_001_000)
    assert suspects(samples, runs.usage(waited=0.1), QUIET) == []
    assert suspects(samples, runs.usage(waited=0.1, core={"others": 0.5}), QUIET) == [3]
