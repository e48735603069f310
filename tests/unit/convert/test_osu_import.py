"""The OSU micro-benchmarks, imported."""

import pytest

from halftrip.convert.importing import imported
from halftrip.errors import UsageError
from halftrip.results.reported import Source
from harness.samples import measured, one_way, sample


def test_latency_with_tails():
    first, second = measured(sample("osu", "latency"))
    assert first.configuration.transport == "mpi"
    assert first.configuration.pattern == "pingpong"
    assert (first.configuration.size, second.configuration.size) == (8, 1024)
    assert one_way(first) == pytest.approx(380.0)
    assert first.reported.spread == pytest.approx({"p50": 350.0, "p90": 480.0, "p99": 590.0})
    assert first.reported.step == pytest.approx(10.0)
    assert not first.reported.counted


def test_its_version_and_statistic():
    records = imported(sample("osu", "latency").encode(), "latency.txt")
    (source,) = [each for each in records if isinstance(each, Source)]
    assert (source.tool, source.version, source.statistic) == ("osu", "7.4", "mean")


def test_bandwidth_whose_columns_have_one_space_between_them():
    first, _ = measured(sample("osu", "bw"))
    assert list(first.reported.figures) == [
        "Size",
        "Bandwidth (MB/s)",
        "P50 Tail BW(MB/s)",
        "P90 Tail BW(MB/s)",
        "P99 Tail BW(MB/s)",
    ]
    assert (first.configuration.pattern, first.configuration.window) == ("stream", 64)
    assert first.reported.bandwidth == pytest.approx(62.53e6)


def test_message_rate_has_more_digits_than_its_bandwidth():
    first, _ = measured(sample("osu", "mbw-mr"))
    assert first.reported.rate == pytest.approx(8371594.13)
    assert one_way(first) == pytest.approx(1e9 / 8371594.13, abs=0.01)


def test_the_window_of_the_heading():
    text = sample("osu", "mbw-mr").replace("window size: 64", "window size: 16")
    assert {each.configuration.window for each in measured(text)} == {16}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("pairs: 1 ]", "pairs: 4 ]", "line 3: 4 pairs at once"),
        ("window size: 64", "window size: 0", "line 3: a window of 0"),
        ("Multiple Bandwidth / Message Rate", "Allreduce Latency", "line 1: no point-to-point"),
        ("# Size  ", "# Sizes  ", "line 5: neither a comment nor the heading"),
    ],
)
def test_what_is_not_read(old, new, said):
    text = sample("osu", "mbw-mr").replace(old, new)
    with pytest.raises(UsageError) as caught:
        measured(text, "osu")
    assert said in str(caught.value)


def test_a_validation_that_failed():
    with pytest.raises(UsageError, match="line 5: its validation failed"):
        measured(sample("osu", "latency-validated").replace("0.49              Pass", "0.49 Fail"))
