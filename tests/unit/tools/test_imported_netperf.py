"""What netperf's texts are that do not say it all."""

import pytest

from harness.imports import imported_run, measured, one_way


def only(text):
    (found,) = measured(text, "netperf")
    return found


BANNER = "MIGRATED {} TEST from 0.0.0.0 () port 0 AF_INET to 10.0.0.2 () port 0 AF_INET\n"


def test_netperfs_transactions_by_their_rate():
    for text in (
        BANNER.format("TCP REQUEST/RESPONSE") + "THROUGHPUT=50000.00\n",
        BANNER.format("TCP REQUEST/RESPONSE") + "Throughput\n50000.00\n",
        "Throughput,Throughput Units\n50000.00,Trans/s\n",
        # With -c and -C; the heading has other letters then.
        BANNER.format("TCP REQUEST/RESPONSE")
        + "bytes  bytes  bytes   bytes  secs.   per sec  % S    % S    us/Tr   us/Tr\n\n"
        + "262144 540000 8       8      10.00   50000.00  0.86   1.34   62.490  97.446\n",
        "RT_LATENCY=20.000\nTHROUGHPUT=40.00\nDIRECTION=Send|Recv\n",
    ):
        assert one_way(only(text)) == 10000


@pytest.mark.parametrize(
    ("text", "test"),
    [
        ("PROTOCOL=UDP\nDIRECTION=Send\n", "UDP_STREAM"),
        ("PROTOCOL=TCP\nDIRECTION=Recv\n", "TCP_MAERTS"),
        ("PROTOCOL=TCP\nTHROUGHPUT_UNITS=10^6bits/s\n", "TCP_STREAM"),
        # The latencies of a stream are those of calls.
        (BANNER.format("TCP STREAM") + "MEAN_LATENCY=3.10\n", "TCP_STREAM"),
        ("OMNI Send TEST from 0.0.0.0 ()\n", "unknown"),
    ],
)
def test_netperfs_streams(text, test):
    unit = "" if "UNITS" in text else "THROUGHPUT_UNITS=10^6bits/s\n"
    found = only(f"{text}{unit}LOCAL_SEND_SIZE=1000\nTHROUGHPUT=800.00\n")
    assert found.configuration.pattern == "stream"
    assert found.configuration.variant == (("test", test),)
    assert (one_way(found), found.reported.bandwidth, found.reported.spread) == (10000, 1e8, {})


def test_rows_of_netperf_with_one_tag_are_launches_of_one_test():
    """Others are told apart; lines between them are not rows."""
    head = BANNER.format("TCP REQUEST/RESPONSE") + "Result Tag,Throughput\n"
    text = head + '"a",50000.00\nJob 1, of 2\n"b",40000.00\n"a",25000.00\n'
    found = [
        (dict(each.configuration.variant)["result tag"], each.launch, one_way(each))
        for each in measured(text, "netperf")
    ]
    assert found == [("a", 0, 10000), ("b", 0, 12500), ("a", 1, 20000)]


def test_blocks_of_netperfs_columns():
    head = BANNER.format("TCP STREAM")
    text = head + "Local\nSend\nSize\n\n8000\n\nElapsed Throughput Throughput Command\n"
    text += "Time               Units      Line\n(sec)\n\n10.00   800.00     10^6bits/s -t omni\n"
    found = only(text)
    assert (found.configuration.size, one_way(found)) == (8000, 80000)
    assert found.reported.figures["Command Line"] == "-t omni"


def test_a_percentile_of_netperf_alone_is_a_median():
    run = imported_run("P50_LATENCY=6\n")
    assert run.measurements[0].samples[0] == 6000
    assert run.sources[0].statistic == "median"
