"""Maps of cores as pictures: boxes around groups, hatches where there is no answer, and of many
cores an image."""

import re
from itertools import combinations

import pytest

from halftrip.plots import writing
from halftrip.plots.terminal import render
from halftrip.results.records import Failure
from halftrip.results.threshold import Threshold
from harness import runs
from harness.charts import charts_of, check, subject
from harness.choice import extended


def core_map(cores, failed=()):
    """Each core with each other but those that have failed; four share a cache."""
    measured = [
        runs.measurement(pair=pair, half_ns=100.0 if pair[0] // 4 == pair[1] // 4 else 200.0,
                         samples=[2000, 2010])
        for pair in combinations(range(cores), 2)
        if pair not in failed
    ]  # fmt: skip
    caches = [
        Threshold(rank=n, name="the L3 cache", value=1, acts="cache", source="", cores=[n // 4])
        for n in range(cores)
    ]
    failures = tuple(
        Failure(configuration=runs.configuration(pair=pair), reason="it broke", slice=0)
        for pair in failed
    )
    return subject(
        runs.run(
            *measured, header=runs.planned(cores=[*range(cores)], pairs="all"), failures=failures,
            environments=tuple(map(runs.environment, range(cores))), thresholds=tuple(caches),
        )
    )  # fmt: skip


@pytest.mark.parametrize(("apart", "is_bandwidth"), [(1.01, False), (1.01, True), (3.0, False)])
def test_figures_can_be_read_and_only_a_slow_pair_is_framed(apart, is_bandwidth):
    """The colours of pairs that are alike are all those of a fast one."""
    settings = {"pattern": "stream", "window": 8} if is_bandwidth else {}
    made = [
        runs.measurement(pair=pair, half_ns=100.0 * (apart if pair == (0, 1) else 1.0), **settings)
        for pair in combinations(range(4), 2)
    ]
    environments = tuple(map(runs.environment, range(4)))
    run = runs.run(*made, environments=environments)
    (chart,) = charts_of("pairs", [subject(run)])
    found = {tuple(sorted((each["one"], each["other"]))): each for each in chart.data["pairs"]}
    slow = found.pop(("rank 0", "rank 1"))
    assert all(each["is_dark"] and not each["is_worst"] for each in found.values())
    assert slow["is_dark"] == (not slow["is_worst"]) == (apart < 1.05)
    assert ("Framed" in chart.marks[0]) == slow["is_worst"]
    assert ("No pair is 5" in chart.lines[1]) == (not slow["is_worst"])


@pytest.mark.parametrize("cores", [2, 8, *extended(68)])
def test_cores_are_a_map_with_boxes_and_hatches(cores):
    failed = [(1, 2), (0, 5)] if cores > 2 else []
    charts = charts_of("pairs", [core_map(cores, failed)])
    check(charts)
    line, latency = charts
    assert "cache line" in line.title
    for each in (line, latency):
        assert len(each.data["missing"]) == 2 * len(failed)
        boxes = [(box["first"], box["last"]) for box in each.data["boxes"]]
        groups = [(str(4 * n), str(4 * n + 3)) for n in range(cores // 4)]
        assert boxes == (groups if len(groups) > 1 else [])
    # Of many, the fields are an image.
    assert len(latency.data["pairs"]) in (cores * (cores - 1) - 2 * len(failed), 2, 4)
    assert ("data:image/png" in str(latency.view.to_dict())) == (cores > 64)
    svg = writing.picture(charts, "svg", "light").decode()
    assert "NaN" not in svg
    assert ("<image" in svg) == (cores > 64)
    shown = render(charts, 60)
    assert max(map(len, shown.splitlines())) <= 60
    drawn = [line for line in shown.splitlines() if re.match(r"\d+ +\S", line)]
    # A character that stands for several pairs is that of the slowest.
    assert ("/" in "".join(drawn)) == (cores == 8)
