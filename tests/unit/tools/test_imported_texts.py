"""What single tools print beside their figures, or do not print."""

import pytest

from halftrip.errors import HalftripError
from harness.imports import imported_run, measured, one_way, sample


def only(text, tool=None):
    (found,) = measured(text, tool)
    return found


def test_figures_are_kept_by_the_names_of_their_columns():
    """Also of columns that have one space between them, or two lines."""
    found = measured(sample("osu", "bw"))[0]
    tails = [f"P{share} Tail BW(MB/s)" for share in (50, 90, 99)]
    assert list(found.reported.figures) == ["Size", "Bandwidth (MB/s)", *tails]
    assert only(sample("netperf", "tcp-rr")).reported.figures == {
        "Send Socket Size": "16384", "Recv Socket Size": "131072", "REQUEST_SIZE": "64",
        "RESPONSE_SIZE": "64", "ELAPSED_TIME": "10.00", "TRANSACTION_RATE": "43251.34",
    }  # fmt: skip
    figures = only(sample("netperf", "udp-stream")).reported.figures
    assert (figures["THROUGHPUT"], figures["REMOTE_RECV_THROUGHPUT"]) == ("1893.62", "1113.98")
    found = only(sample("ucx-perftest", "latency")).reported.figures
    assert (found["50.0%ile"], found["overall message rate (msg/s)"]) == ("0.647", "6161")
    load = ("43251.34", "43251.34  0.86   -1.00  62.490  -1.00")
    figures = only(sample("netperf", "tcp-rr", load)).reported.figures
    assert (figures["CPU local"], figures["Service Demand remote"]) == ("0.86", "-1.00")


def test_imb_without_a_version_has_no_megabyte():
    text = sample("imb", "four-benchmarks")
    rule = "#---------------------------------------------------"
    rows = measured(text[text.index(f"{rule}\n# Benchmarking PingPong") :])
    assert rows[2].reported.bandwidth is None
    # That of Uniband is known by its messages.
    assert rows[9].reported.bandwidth == pytest.approx(1024 * 4e6)


def test_lines_that_others_print_do_not_count():
    waiting = "# #processes = 2 \n# ( 62 additional processes waiting in MPI_Barrier)\n"
    text = sample("imb", "four-benchmarks", ("# #processes = 2 \n", waiting))
    assert len(measured("[0] MPI startup(): library kind: release\n" + text)) == 13
    row = "           8             2"
    info = (row, f"node1:1:1 [0] NCCL INFO comm\n{row}")
    assert len(measured(sample("nccl-tests", "sendrecv", info))) == 8
    text = sample("mpptest", "cit")
    assert len(measured(text[text.index("#p0") : text.index("plot square")])) == 4
    progress = "[thread 0]      701   5.901   716.076   716.076   0.09   0.09   1397   1397\n"
    text = sample("ucx-perftest", "latency", ("Final:", f"{progress}Final:"))
    assert only(text).samples[0] == 500 * 2 * 162301
    # The advice of a note is no size.
    note = next(
        line for line in sample("sockperf", "throughput").splitlines(True) if "NOTE" in line
    )
    assert only(note + sample("sockperf", "ping-pong")).configuration.known_size is None


def test_figures_of_json_are_as_they_were_written():
    text = sample("nccl-tests", "sendrecv-json", ('"time":16.214513', '"time":16.20'))
    found, *_ = imported_run(text).measurements
    assert found.reported.figures["time"] == "16.20"
    assert found.reported.step == pytest.approx(10.0)


def test_the_bandwidth_of_perftests_json_is_that_of_its_message_rate():
    text = sample("perftest", "send-lat-json", ("Send Latency", "Send BW"))
    begin, end = text.index('"t_min"'), text.rindex("}\n}") - 1
    found = only(
        text[:begin] + '"BW_peak": 100.5, "BW_average": 99.5, "MsgRate": 6.25' + text[end:]
    )
    assert found.configuration.window == 1
    assert found.reported.bandwidth == pytest.approx(2 * 6.25e6)


@pytest.mark.parametrize(
    ("title", "pattern", "mode"),
    [
        ("UCP tag sync match latency", "pingpong", "blocking"),
        ("am latency", "pingpong", "blocking"),
        ("get latency / bandwidth / message rate", "get", "onesided"),
        ("UCP put bandwidth", "put", "onesided"),
        ("active message bandwidth / message rate", "stream", "nonblocking"),
    ],
)
def test_ucx_perftests_server_says_which_test_it_is(title, pattern, mode):
    box = "| API:          protocol layer  |\n| Test:         {}  |\n| Message size: {} |\n"
    text = box.format(title, 60) + sample("ucx-perftest", "latency")
    found = only(text)
    assert (found.configuration.pattern, found.configuration.mode) == (pattern, mode)
    assert found.configuration.variant == (("test", title),)
    # What it says goes before what the digits of the client allow.
    assert found.configuration.size == 60
    assert one_way(found) == pytest.approx(162301)
    assert imported_run(text).sources[0].facts == {}
    window = "| Window size:  32            |\n" + box.format("tag match bandwidth", 65536)
    found = only(window + sample("ucx-perftest", "bandwidth-final-only"))
    assert found.configuration.window == 32
    assert one_way(found) == pytest.approx(572520)


def test_three_numbers_alone_are_not_recognised():
    for text in ("1 2 3\n", "     1 0.999486   0.763\n", "1,0.999486,0.00000763\n"):
        with pytest.raises(HalftripError, match="the output of no tool that is known"):
            measured(text)


@pytest.mark.parametrize(("devices", "count"), [("nGpus 1", 8), ("nGpus 2", 8), ("nGpus 4", 0)])
def test_nccl_tests_without_lines_of_ranks(devices, count):
    """How many ranks there are is not known, but where one process has more than two."""
    lines = sample("nccl-tests", "sendrecv", ("nGpus 1", devices)).splitlines(True)
    text = "".join(line for line in lines if not line.startswith("#  Rank"))
    found = measured(text) if count else []
    assert [dict(each.configuration.variant) for each in found] == [{"ranks": "unknown"}] * count
    if not count:
        with pytest.raises(HalftripError, match="line 8: 4 ranks"):
            measured(text)


def test_a_server_of_old_iperf3_counts_nothing_over_all_of_udp():
    """Its intervals have what it received, but for a rest of one at the end."""
    rows = """\
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  5]   0.00-1.00   sec   116 KBytes   950 Kbits/sec  0.021 ms  0/83 (0%)
[  5]   1.00-2.00   sec   128 KBytes  1.05 Mbits/sec  0.018 ms  2/94 (2.1%)
[  5]   2.00-2.04   sec  0.00 Bytes  0.00 bits/sec  0.018 ms  0/0 (nan%)
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  5]   0.00-2.04   sec  0.00 Bytes  0.00 bits/sec  0.018 ms  2/177 (1.1%)
"""
    found = measured(rows)
    assert [each.reported.bandwidth for each in found] == [118750, 131250]
    assert {dict(each.configuration.variant)["over"] for each in found} == {"intervals"}
    with pytest.raises(HalftripError, match="nothing was received"):
        measured(
            "\n".join(
                line
                for line in rows.split("\n")
                if "Kbits" not in line and "Mbits" not in line and "2.00-2.04" not in line
            )
        )


@pytest.mark.parametrize("rate", ["", "    msg_rate  =  80 K/sec\n"])
def test_both_ways_of_qperf_are_a_sum(rate):
    """5.09 GB/s over QDR (4 GB/s of data one way)."""
    found = only(f"rc_bi_bw:\n    bw  =  5.09 GB/sec\n{rate}")
    assert found.configuration.pattern == "bidirectional"
    assert found.reported.bandwidth == pytest.approx(2.545e9)
    assert found.reported.rate == (pytest.approx(40e3) if rate else None)


def test_iperf_2_is_no_iperf3():
    with pytest.raises(HalftripError, match="line 2: a row of iperf 2, which is not read here"):
        measured(
            "[ ID] Interval       Transfer     Bandwidth\n"
            "[  3]  0.0-10.0 sec  10.9 GBytes  9.40 Gbits/sec\n"
        )
