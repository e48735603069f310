"""What was measured in another way is told apart, and no figure is made of two that do not fit."""

import csv
import io

import pytest

from halftrip.analysis.compared_run import ComparedRun
from halftrip.analysis.comparison import compare
from halftrip.errors import HalftripError, UsageError
from halftrip.report.document import document
from halftrip.views import details
from halftrip.views.row_tables import row_tables
from harness.imports import imported, imported_run, one_way, sample
from harness.screens import text_of

OSU = "# OSU MPI{} Latency Test v7.3\n{}# Size       Avg Latency(us)\n8 1.32\n64 1.41\n"
ON = "# Send Buffer on {} ({}) and Receive Buffer on {} ({})\n"
PERFTEST = sample("perftest", "write-bw")
LOAD = "$ sockperf under-load --mps 1000\n"
SOCKPERF = sample("sockperf", "ping-pong")
# Of 80 MB or so: too few digits tell no size.
UCX = """\
+--------------+--------------+------------------------------+---------------------+-------------+
|              |              |        overhead (usec)       |   bandwidth (MB/s)  |  rate       |
+--------------+--------------+----------+---------+---------+----------+----------+------+------+
|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall \
|  average  |  overall  |
+--------------+--------------+----------+---------+---------+----------+----------+------+------+
Final:                   900      0.210 16666.667 16666.667   4000.00    4000.00      60       60
"""


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        (OSU.format("", ""), ("host", "host")),
        (OSU.format("-CUDA", ON.format("DEVICE", "D", "HOST", "H")), ("cuda", "host")),
        (OSU.format("-ROCM", ON.format("DEVICE", "D", "DEVICE", "D")), ("rocm", "rocm")),
        # From version 7.5 on it has no line of this.
        (OSU.format("-CUDA", ""), ("unknown", "unknown")),
        # Its command does.
        ("$ srun ./osu_latency D D\n" + OSU.format("-CUDA", ""), ("cuda", "cuda")),
        (
            "$ mpirun osu_latency \\\n  -d cuda H D | tee a\n" + OSU.format("-CUDA", ""),
            ("host", "cuda"),
        ),
        # One of several above it.
        ("osu_latency D D\nosu_latency H D\n" + OSU.format("-CUDA", ""), ("unknown", "unknown")),
        (OSU.format("", ON.format("MANAGED", "M", "HOST", "H")), ("device-managed", "host")),
        ("cuMemAlloc() of a 65536 bytes GPU buffer\n" + PERFTEST, ("cuda", "unknown")),
        (PERFTEST, ("host", "host")),
    ],
)
def test_memory_is_where_a_text_says(text, memory):
    for each in imported_run(text).by_configuration:
        assert tuple(end.memory for end in each.ends) == memory


IMB = sample("imb", "four-benchmarks")


@pytest.mark.parametrize(
    ("command", "memory", "cache"),
    [
        ("IMB-MPI1 PingPong", "host", "hot"),
        ("/opt/bin/IMB-MPI1 -npmin 2 -off_cache -1 PingPong", "host", "cold"),
        ("IMB-MPI1 -off_cache 0 PingPong", "host", "hot"),
        ("IMB-MPI1-GPU -off_cache 39,64", "device", "cold"),
        ("IMB-MPI1-GPU -mem_alloc_type cpu", "host", "hot"),
        ("IMB-MPI1-GPU -mem_alloc_type shared", "unknown", "hot"),
        # Older versions break the line, and others do not repeat it.
        ("IMB-MPI1 -npmin 2 -iter 100 \n#          -off_cache -1 PingPong", "host", "cold"),
        ("-------------------", "host", "hot"),
    ],
)
def test_imbs_command_says_whose_memory_and_whether_it_stays_in_the_cache(command, memory, cache):
    said = "# IMB-MPI1 PingPong PingPing Uniband Biband"
    assert IMB.count(said) == 1
    cold = IMB.replace(said, "# IMB-MPI1-GPU -off_cache -1")
    run = imported_run(cold + IMB.replace(said, f"# {command} "))
    for each in [*run.by_configuration][len(run.by_configuration) // 2 :]:
        assert (each.initiator.memory, each.cache) == (memory, cache)


SUMMARY = """\
[ ID] Interval           Transfer     Bitrate{}
[  5]   0.00-10.03  sec  1.09 GBytes   934 Mbits/sec  {}            sender
[  5]   0.00-10.00  sec  1.09 GBytes   934 Mbits/sec                  receiver
"""


@pytest.mark.parametrize(
    ("text", "transport"),
    [
        (SUMMARY.format("         Retr", "1"), "tcp"),
        (SUMMARY.format("", ""), "unknown"),
        (SUMMARY.format("", "").partition("\n")[2], "unknown"),
        (SUMMARY.format("", "").replace("[  5]", "[SUM]"), "unknown"),
    ],
)
def test_a_summary_of_iperf3_without_what_is_above_it_has_no_direction(text, transport):
    (configuration,) = imported_run(text).by_configuration
    assert configuration.transport == transport
    streams = "unknown" if "SUM" in text else "1"
    assert dict(configuration.variant) == {
        "direction": "unknown",
        "over": "whole test",
        "streams": streams,
    }


@pytest.mark.parametrize(
    ("title", "pattern", "variant"),
    [
        ("RDMA_Write Post List BW Test", "put", {"post list": "several"}),
        ("RDMA_Write Bidirectional BW Test", "bidirectional", {"verb": "write"}),
        ("RDMA_Read Bidirectional BW Test", "bidirectional", {"verb": "read"}),
    ],
)
def test_titles_of_perftest(title, pattern, variant):
    assert "RDMA_Write BW Test" in PERFTEST
    text = PERFTEST.replace("RDMA_Write BW Test", title)
    for each in imported_run(text).by_configuration:
        assert (each.pattern, dict(each.variant)) == (pattern, variant)
    # In JSON, all blanks are underscores.
    text = sample("perftest", "send-lat-json").replace("Send Latency Test", "Send_Latency_Test")
    (each,) = imported_run(text).by_configuration
    assert (each.pattern, each.variant) == ("pingpong", ())


def test_a_test_under_load_is_no_ping_pong():
    few = SOCKPERF.replace("ReceivedMessages=40925", "ReceivedMessages=20462")
    # By its command, or by how few replies there are.
    for text in (LOAD + SOCKPERF, few):
        (found,) = imported_run(text).by_configuration
        assert found.variant == (("mode", "under-load"),)
        sides = [ComparedRun.of(imported_run(each), each) for each in (SOCKPERF, text)]
        with pytest.raises(UsageError, match="no row in common"):
            compare(sides[0], sides[1:])
    (usual,) = imported_run(LOAD.replace("under-load", "ping-pong") + SOCKPERF).by_configuration
    assert usual.variant == ()


def test_a_printed_bandwidth_is_kept_and_no_size_is_told_that_contradicts_it():
    (measured,) = imported_run(UCX).measurements
    assert not measured.configuration.size_known
    assert measured.reported.bandwidth == 4000.0 * (1 << 20)
    (told,) = imported_run(UCX, size=64 << 20).measurements
    assert (told.configuration.size, told.reported.bandwidth) == (64 << 20, 4000.0 * (1 << 20))
    with pytest.raises(HalftripError, match="--size 4M: its bandwidth and its message rate are of"):
        imported(UCX, size=4 << 20)


def test_what_was_told_of_rows_keeps_them_apart():
    texts = [imported_run(OSU.format("", ""), settings={"kernel": name}) for name in ("a", "b")]
    with pytest.raises(UsageError, match="no row in common"):
        compare(ComparedRun.of(texts[0], "a"), [ComparedRun.of(texts[1], "b")])


def test_a_bandwidth_without_a_size_has_no_time_and_tells_ratios():
    text = sample("iperf3", "text.txt")
    found = document(imported_run(text))
    for row in csv.DictReader(io.StringIO(details.csv(found))):
        assert [row[name] for name in ("size_bytes", "latency_ns", "messages_per_s")] == [""] * 3
        assert float(row["bandwidth_bytes_per_s"]) > 2e8
    assert [row.summary.samples for row in found.rows] == [2, 1]
    (first, *_) = imported_run(text, size=8192).measurements
    assert one_way(first) == pytest.approx(8192 / (1.78 / 8), abs=1)


def test_the_sum_of_several_pairs_stands_beside_the_mean():
    run = imported_run(sample("osu", "several-pairs"), settings={"pairs": "4"})
    sums = {row.source.statistic: row.all_pairs_bandwidth for row in document(run).rows}
    assert sums == {"sum": pytest.approx(532.8e6), "mean": None}
    assert "all pairs: the sum" in text_of(details.details(document(run)), 150)
    assert ("pairs", "4") in {each for one in run.by_configuration for each in one.variant}


def test_a_title_has_only_what_all_rows_share():
    """What some rows have is a column, and what is not known of some is nowhere."""
    text = sample("osu", "one-sided") + sample("osu", "bw") + sample("qperf", "sizes")
    times, rates = (each.table for each in row_tables(document(imported_run(text)), brief=False))
    assert not [title for title in times.title if "fence" in title or "cache" in title]
    assert "synchronization" in [column.name for column in times.columns]
    assert "cache hot" in rates.title[0]


@pytest.mark.parametrize(
    ("tool", "name", "host"),
    [
        ("netperf", "tcp-rr", "10.0.0.2"), ("netperf", "columns", "10.0.0.2"),
        ("iperf3", "text.txt", "10.0.0.2"), ("iperf3", "two-streams.json", "10.0.0.2"),
    ],
)  # fmt: skip
def test_the_same_test_to_another_host_is_another_one(tool, name, host):
    text = sample(tool, name)
    other = sample(tool, name, (host, "10.0.0.3"), *((("z5rs", "z5rt"),) if "z5rs" in text else ()))
    for run, peers in (
        (imported_run(text), {None}),
        (imported_run(text + other), {host, "10.0.0.3"}),
    ):
        assert {dict(each.variant).get("peer") for each in run.by_configuration} == peers
        assert {each.launch for each in run.measurements} == {0}


def test_a_window_that_is_not_known_is_no_other():
    known, unknown = (
        ComparedRun.of(imported_run(text), text)
        for text in (PERFTEST, PERFTEST.replace(" TX depth ", ""))
    )
    (found,) = compare(unknown, [unknown])
    assert [row.difference.ratio for row in found.rows] == [1.0, 1.0]
    with pytest.raises(UsageError, match="no row in common"):
        compare(known, [unknown])
    (found,) = compare(known, [unknown], match_unknown=True)
    assert len(found.rows) == 2
    shown = document(imported_run(PERFTEST.replace(" TX depth ", "")))
    assert [row["window"] for row in csv.DictReader(io.StringIO(details.csv(shown)))] == ["", ""]
    assert "window" not in text_of(details.details(shown), 150)


MULTI = """\
# Benchmarking Multi-PingPong
# ( 2 groups of 2 processes each running simultaneous )
# Group  0:     0    2
#
# Group  1:     1    3
#
"""
GROUPS = """
        Group       #bytes #repetitions      t[usec]   Mbytes/sec

            0            8         1000         0.41        19.51
            1            8         1000         0.42        19.05
"""
SLOWEST = """\
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            8         1000         0.37         0.39         0.38        20.51
"""


def test_groups_of_imb_are_pairs_or_the_slowest_of_them():
    found = [
        (each.configuration.pair, each.configuration.variant, one_way(each))
        for each in imported_run(MULTI + GROUPS + MULTI + SLOWEST).measurements
    ]
    slowest = (("pair", "slowest"),)
    assert found == [((0, 2), (), 410.0), ((1, 3), (), 420.0), ((0, 1), slowest, 390.0)]
    with pytest.raises(HalftripError, match="no line above says which ranks group '0' has"):
        imported(MULTI.replace("# Group", "# Grupe") + GROUPS)
    with pytest.raises(HalftripError, match="where the title says otherwise"):
        imported(MULTI.replace("Multi-", "") + GROUPS)
