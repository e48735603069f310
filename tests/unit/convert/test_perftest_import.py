"""perftest, imported. Its samples are laid out as its source prints them; the figures are made."""

import pytest

from halftrip.convert.importing import imported
from halftrip.errors import UsageError
from halftrip.results.reported import Source
from harness.samples import measured, one_way, sample


def test_send_latency():
    row = measured(sample("perftest", "send-lat"))[-1]
    assert (row.configuration.pattern, row.configuration.transport) == ("pingpong", "verbs")
    assert (row.configuration.size, row.iterations) == (4096, 1000)
    assert one_way(row) == pytest.approx(2080.0)
    assert row.reported.spread == pytest.approx(
        {
            "min": 2010.0,
            "max": 5520.0,
            "p50": 2080.0,
            "stddev": 80.0,
            "p99": 2250.0,
            "p99.9": 5520.0,
        }
    )


def test_the_typical_time_is_the_median():
    records = imported(sample("perftest", "send-lat").encode(), "lat.txt")
    (source,) = [each for each in records if isinstance(each, Source)]
    assert source.statistic == "median"


def test_a_read_is_not_half_of_anything():
    (row,) = measured(sample("perftest", "read-lat"))
    assert (row.configuration.pattern, row.configuration.mode) == ("get", "onesided")
    assert row.configuration.messages_per_iteration == 1
    assert one_way(row) == pytest.approx(1790.0)


def test_a_write_is_another_variant_of_pingpong():
    text = sample("perftest", "send-lat").replace("Send Latency", "RDMA_Write Latency")
    assert measured(text)[0].configuration.variant == (("verb", "write"),)


def test_write_bandwidth():
    row = measured(sample("perftest", "write-bw"))[-1]
    assert (row.configuration.pattern, row.configuration.window) == ("put", 128)
    assert row.reported.bandwidth == pytest.approx(11779.42 * (1 << 20))
    assert row.reported.rate == pytest.approx(188471.0)


def test_gigabits_and_both_directions():
    text = sample("perftest", "write-bw").replace("MB/sec", "Gb/sec")
    assert measured(text)[-1].reported.bandwidth == pytest.approx(11779.42 * 1.25e8)
    text = text.replace("RDMA_Write BW", "Send Bidirectional BW")
    row = measured(text)[-1]
    assert row.configuration.pattern == "bidirectional"
    assert row.reported.bandwidth == pytest.approx(11779.42 * 1.25e8 / 2)


def test_its_json():
    (row,) = measured(sample("perftest", "send-lat-json"))
    assert one_way(row) == pytest.approx(850.0)
    assert row.reported.spread["p99.9"] == pytest.approx(2580.0)


def test_the_bandwidth_of_json_is_that_of_its_message_rate():
    text = sample("perftest", "send-lat-json").replace("Send Latency", "Send BW")
    begin, end = text.index('"t_min"'), text.rindex("}\n}") - 1
    figures = '"BW_peak": 100.5, "BW_average": 99.5, "MsgRate": 6.25'
    (row,) = measured(text[:begin] + figures + text[end:])
    assert row.configuration.window == 1
    assert row.reported.bandwidth == pytest.approx(2 * 6.25e6)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("RDMA_Write BW", "RDMA_Write Bidirectional BW", "is not read here: Send Latency Test"),
        ("RDMA_Write BW", "Atomic_CMP_AND_SWAP BW", "is not read here: Send Latency Test"),
        ("RDMA_Write BW Test", "", "no line above says which test"),
        ("MsgRate[Mpps]", "Rate", "'Rate' is no column"),
        ("MsgRate[Mpps]", "#bytes", "names a column twice"),
        ("BW average[MB/sec]", "BW average[KB/day]", "bandwidth in 'KB/day'"),
        ("TX depth        : 128", "TX depth        : 0", "a TX depth of 0"),
        ("5000           13.21", "0              13.21", "no iterations"),
        ("12.90", "0.00", "neither a latency nor a bandwidth"),
    ],
)
def test_what_is_not_read(old, new, said):
    text = sample("perftest", "write-bw")
    assert old in text
    with pytest.raises(UsageError) as caught:
        measured(text.replace(old, new), "perftest")
    assert said in str(caught.value)
