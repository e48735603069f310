"""netperf: classic text, selected figures, and what halves a transaction."""

import pytest

from halftrip.errors import UsageError
from harness.imports import imported_run
from harness.samples import measured, one_way, sample

TOOL = "netperf"
_BANNER = "MIGRATED {} TEST from 0.0.0.0 () port 0 AF_INET to 10.0.0.2 () port 0 AF_INET\n"


def only(text):
    (found,) = measured(text, TOOL)
    return found


def test_transactions():
    found = only(sample(TOOL, "tcp-rr"))
    assert (found.configuration.transport, found.configuration.size) == ("tcp", 64)
    assert (found.configuration.pattern, found.configuration.mode) == ("pingpong", "blocking")
    assert found.configuration.variant == (("test", "TCP_RR"),)
    # Both directions are a transaction.
    assert found.samples[0] == round(1e9 / 43251.34)
    assert found.reported.step == pytest.approx(1e9 / 2 / 43251.34 * 0.01 / 43251.34)
    assert not found.reported.counted
    assert found.reported.figures == {
        "Send Socket Size": "16384",
        "Recv Socket Size": "131072",
        "REQUEST_SIZE": "64",
        "RESPONSE_SIZE": "64",
        "ELAPSED_TIME": "10.00",
        "TRANSACTION_RATE": "43251.34",
    }


def test_transactions_of_udp():
    found = only(sample(TOOL, "tcp-rr").replace("TCP", "UDP"))
    assert found.configuration.transport == "udp"
    assert found.configuration.variant == (("test", "UDP_RR"),)


def test_the_load_of_the_processors():
    text = sample(TOOL, "tcp-rr").replace("43251.34", "43251.34  0.86   -1.00  62.490  -1.000")
    with pytest.raises(UsageError, match="negative"):
        imported_run(text)
    figures = only(text.replace("-1.000", "-1.00")).reported.figures
    assert figures["CPU local"] == "0.86"
    assert figures["Service Demand remote"] == "-1.00"


def test_a_stream():
    found = only(sample(TOOL, "tcp-stream"))
    assert (found.configuration.pattern, found.configuration.size) == ("stream", 1500)
    assert found.configuration.variant == (("test", "TCP_STREAM"),)
    assert found.reported.bandwidth == pytest.approx(9405.64e6 / 8)
    assert found.samples[0] == round(1e9 * 1500 / (9405.64e6 / 8))
    assert found.reported.figures["THROUGHPUT"] == "9405.64"


@pytest.mark.parametrize(
    ("unit", "amount"), [("10^3bits", 125), ("10^9bits", 1.25e8), ("KBytes  ", 1 << 10),
                         ("MBytes  ", 1 << 20), ("GBytes  ", 1 << 30)]
)  # fmt: skip
def test_the_units_of_a_stream(unit, amount):
    text = sample(TOOL, "tcp-stream").replace("10^6bits", unit).replace("9405.64", "2.50")
    assert only(text).reported.bandwidth == pytest.approx(2.5 * amount)


def test_of_datagrams_what_has_arrived():
    found = only(sample(TOOL, "udp-stream"))
    assert (found.configuration.transport, found.configuration.size) == ("udp", 1024)
    assert found.reported.bandwidth == pytest.approx(1113.98e6 / 8)
    assert one_way(found) == pytest.approx(1024 / (1113.98e6 / 8) * 1e9, abs=1)
    assert found.reported.figures["THROUGHPUT"] == "1893.62"
    assert found.reported.figures["REMOTE_RECV_THROUGHPUT"] == "1113.98"
    assert found.reported.figures["Remote Messages Okay"] == "1359834"


def test_selected_as_csv():
    found = only(sample(TOOL, "selected-csv"))
    assert found.configuration.pattern == "pingpong"
    assert (found.configuration.transport, found.configuration.known_size) == ("unknown", None)
    assert found.configuration.variant == (("test", "unknown"),)
    assert found.samples[0] == 27840
    assert found.reported.spread == {"p50": 13000, "p99": 29500}
    assert found.reported.step == pytest.approx(5)
    (source,) = imported_run(sample(TOOL, "selected-csv")).sources
    assert (source.statistic, source.facts) == ("mean", {})


def test_selected_as_keys():
    found = only(sample(TOOL, "selected-keys"))
    assert (found.configuration.transport, found.configuration.size) == ("tcp", 8)
    assert found.samples[0] == 351660
    assert found.reported.spread == {
        "min": 140500,
        "p50": 167000,
        "p90": 195500,
        "p99": 265000,
        "max": 2060000,
        "stddev": pytest.approx(30535),
    }
    assert found.reported.figures["LOCAL_TRANSPORT_RETRANS"] == "0"
    assert len(found.reported.figures) == 16


def test_a_percentile_alone_is_a_median():
    run = imported_run("P50_LATENCY=6\n")
    (found,) = run.measurements
    assert found.samples[0] == 6000
    assert run.sources[0].statistic == "median"


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        (_BANNER.format("TCP REQUEST/RESPONSE") + "THROUGHPUT=50000.00\n", 10000),
        (_BANNER.format("TCP REQUEST/RESPONSE") + "Throughput\n50000.00\n", 10000),
        ("Throughput,Throughput Units\n50000.00,Trans/s\n", 10000),
        ("RT_LATENCY=20.000\nTHROUGHPUT=40.00\nDIRECTION=Send|Recv\n", 10000),
    ],
)
def test_transactions_by_their_rate(text, ns):
    assert one_way(only(text)) == ns


@pytest.mark.parametrize(
    ("text", "test"),
    [
        ("PROTOCOL=UDP\nDIRECTION=Send\n", "UDP_STREAM"),
        ("PROTOCOL=TCP\nDIRECTION=Recv\n", "TCP_MAERTS"),
        ("PROTOCOL=TCP\nTHROUGHPUT_UNITS=10^6bits/s\n", "TCP_STREAM"),
        (_BANNER.format("TCP MAERTS"), "TCP_MAERTS"),
        (_BANNER.format("TCP STREAM") + "MEAN_LATENCY=3.10\n", "TCP_STREAM"),
        ("OMNI Send TEST from 0.0.0.0 ()\n", "unknown"),
    ],
)
def test_selected_of_streams(text, test):
    found = only(text + "LOCAL_SEND_SIZE=1000\nTHROUGHPUT=800.00\n")
    assert found.configuration.pattern == "stream"
    assert found.configuration.variant == (("test", test),)
    assert one_way(found) == 10000
    assert found.reported.bandwidth == 1e8
    # The latencies of a stream are those of calls.
    assert found.reported.spread == {}


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("tcp-rr", "64       64 ", "64       1024", "two sizes"),
        ("tcp-rr", "first burst 0", "first burst 16", "burst of 16"),
        ("tcp-rr", "REQUEST/RESPONSE", "Connect/Request/Response", "connects"),
        ("tcp-rr", "REQUEST/RESPONSE", "SENDFILE", "not read here"),
        ("tcp-rr", "43251.34", "0.00", "TRANSACTION_RATE of 0"),
        ("tcp-rr", "43251.34", "43251,34", "comma"),
        ("tcp-rr", "10.00    43251.34", "10.00", "5 figures"),
        ("tcp-stream", "9405.64", "0.00", "THROUGHPUT of 0"),
        ("tcp-stream", "131072", "netperf: send_omni: failed\n131072", "failed"),
        ("tcp-stream", "131072  16384  1500    10.00    9405.64   \n", "", "interrupted"),
        ("udp-stream", "212992           10.00     1359834           1113.98", "", "interrupted"),
        ("selected-csv", "27.84,", "", "3 figures"),
        ("selected-csv", "35854.15", "358.54", "bits or transactions"),
        ("selected-csv", "59\n", "59\n1.00,2.00,3,4\n", "line 3: a second row"),
        ("selected-keys", "RESPONSE_SIZE=8", "RESPONSE_SIZE=9", "two sizes"),
        ("selected-keys", "REQUEST_SIZE=8", "BURST_SIZE=4\nREQUEST_SIZE=8", "burst of 4"),
        ("selected-keys", "P90_LATENCY", "P50_LATENCY", "line 7: P50_LATENCY a second time"),
        ("selected-keys", "P90_LATENCY=391", "P90_LATENCY=nan", "P90_LATENCY 'nan' is no number"),
    ],
)
def test_what_is_no_result(name, old, new, said):
    text = sample(TOOL, name)
    assert old in text
    with pytest.raises(UsageError, match=said):
        imported_run(text.replace(old, new, 1), TOOL)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("REQUEST_SIZE=8\n", "neither THROUGHPUT_UNITS nor"),
        ("THROUGHPUT=8.00\n", "neither THROUGHPUT_UNITS nor"),
        ("MAX_LATENCY=8\n", "select one"),
        ("DIRECTION=Send\n", "no THROUGHPUT"),
        ("DIRECTION=Send\nTHROUGHPUT=8.00\n", "without LOCAL_SEND_SIZE"),
        ("DIRECTION=Send\nTHROUGHPUT=8.00\nTHROUGHPUT_UNITS=cars/s\n", "in 'cars'"),
        (_BANNER.format("TCP STREAM"), "ends before a result"),
        ('Throughput,Throughput Units\n8.00,"Trans/s\n', "no CSV"),
    ],
)
def test_what_was_not_selected(text, said):
    with pytest.raises(UsageError, match=said):
        imported_run(text, TOOL)
