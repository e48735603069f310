"""What each figure of each tool becomes. Samples of mpptest, nccl-tests and perftest are laid out
as their sources print them, with made-up figures; the others have been printed, some more of it."""

import pytest

from harness.imports import figure, imported_run, measured, sample

PING, BOTH, STREAM = ({"pattern": each} for each in ("pingpong", "bidirectional", "stream"))
# Tool, sample, which of its rows, what has been replaced in it, and what the row is.
ROWS = [
    ("osu", "latency", 0, (), PING | {
        "transport": "mpi", "size": 8, "one_way": 380.0, "step": 10.0, "counted": False,
        "spread": {"p50": 350.0, "p90": 480.0, "p99": 590.0},
    }),
    ("osu", "bw", 0, (), STREAM | {"window": 64, "bandwidth": 62.53e6, "mode": "nonblocking"}),
    # The message rate has more digits than the bandwidth.
    ("osu", "bw", 0, (("MPI Bandwidth", "MPI Bi-Directional Bandwidth"), ("  Bandwidth (",
     "  Bi-Bandwidth (")), BOTH | {"bandwidth": 62.53e6 / 2}),
    ("osu", "mbw-mr", 0, (), {"rate": 8371594.13, "one_way": 1e9 / 8371594.13}),
    ("osu", "mbw-mr", 0, (("size: 64", "size: 16"),), {"window": 16}),
    ("osu", "latency-validated", 0, (), PING | {"verify": True, "message_places": "own"}),
    ("osu", "latency-validated", 0, (("Latency", "Bandwidth"), ("Avg Bandwidth(us)",
     "Bandwidth (MB/s)")), STREAM | {"verify": True, "message_places": "unknown"}),
    # The mean of four pairs, of which the sum is printed.
    ("osu", "several-pairs", 0, (), STREAM | {
        "concurrency": 4, "rate": 33486376.52 / 4, "bandwidth": 267.89e6 / 4, "window": 64,
    }),
    ("osu", "several-pairs", 2, (), PING | {"variant": (("pairs", "unknown"),), "one_way": 490.0}),
    ("osu", "several-pairs", 4, (), PING | {"variant": (("threads", "1:2"),), "one_way": 980.0}),
    ("osu", "several-pairs", 4, (
        ("Multi-threaded", "Multi-process"), ("Sender threads", "forked processes in sender"),
        ("Receiver threads", "forked processes in receiver"),
    ), {"variant": (("forked processes", "1:2"),)}),
    ("osu", "several-pairs", 4, (("# Number of Sender threads: 1\n", ""),), {
        "variant": (("threads", "unknown"),),
    }),
    ("osu", "one-sided", 0, (), {
        "pattern": "put", "mode": "onesided", "one_way": 1490.0, "window": 1,
        "variant": (("synchronization", "fence"), ("window creation", "create")),
    }),
    ("osu", "one-sided", 2, (), {
        "pattern": "get", "window": 64, "bandwidth": 62.53e6, "places": "own", "variant": (),
    }),
    ("osu", "one-sided", 2, (("Get Bandwidth Test v7.4", "Get Bandwidth Test v5.3.2"),), {
        "window": 32,
    }),
    ("osu", "one-sided", 2, (("Get Bandwidth", "Put Bi-directional Bandwidth"),), BOTH | {
        "bandwidth": 62.53e6 / 2, "variant": (("verb", "put"),),
    }),
    ("imb", "four-benchmarks", 0, (), PING | {"size": 0, "bandwidth": None}),
    ("imb", "four-benchmarks", 1, (), PING | {
        "size": 8, "iterations": 1000, "counted": True, "one_way": 350.0, "bandwidth": 22.61e6,
    }),
    ("imb", "four-benchmarks", 4, (), {
        "pattern": "pingping", "mode": "blocking", "one_way": 370.0,
    }),
    ("imb", "four-benchmarks", 7, (), STREAM | {
        "window": 64, "variant": (), "mode": "nonblocking",
    }),
    # The sum of both directions.
    ("imb", "four-benchmarks", 11, (), BOTH | {"rate": 5e6, "one_way": 200.0, "bandwidth": 40e6}),
    # The slowest of both, which send and receive a message each, or two.
    ("imb", "ranges", 1, (), {
        "pattern": "exchange", "mode": "blocking", "one_way": 800.0, "bandwidth": 1280e6,
    }),
    ("imb", "ranges", 3, (), BOTH | {"window": 2, "one_way": 800.0, "bandwidth": 1280e6}),
    # A ring of many, of which each process does so.
    ("imb", "ranges", 3, (("#processes = 2", "#processes = 40"),), BOTH | {
        "window": 2, "one_way": 800.0, "bandwidth": 1280e6, "variant": (("processes", "40"),),
    }),
    *(
        ("imb", "ranges", 3, (("Benchmarking Exchange", title),), BOTH | {"variant": ()})
        for title in ("Benchmarking\uff1aExchange", "Benchmarking Exchange\uff1a")
    ),
    *(
        ("imb", "four-benchmarks", 1, (("PingPong", title), ("MPI-1 part", part)), {
            "pattern": pattern, "mode": "onesided", "variant": variant, "one_way": 350.0,
        })
        for title, part, pattern, variant in (
            ("Unidir_Put", "MPI-2 part", "put",
             (("mode", "unknown"), ("synchronization", "fence"))),
            ("Unidir_get", "MPI-RMA part", "get", (("mode", "unknown"),)),
        )
    ),
    # Of two pairs, Uniband and Biband are the only ones.
    ("imb", "four-benchmarks", 1, (("processes = 2 ", "processes = 4 "),), STREAM | {
        "concurrency": 2, "rate": 8371594 / 2, "bandwidth": 66.97e6 / 2,
    }),
    # A megabyte depends on the version.
    *(
        ("imb", "four-benchmarks", 2, (("2021.3", version),), {"bandwidth": 1852.41 * unit})
        for version, unit in (("4.1", 1 << 20), ("2017.1", 1 << 20), ("2018", 1e6))
    ),
    ("imb", "four-benchmarks", 2, (("Benchmarks 2021.3", "Benchmark Suite V3.2"),), {
        "bandwidth": 1852.41 * (1 << 20),
    }),
    ("hpcbench", "round-trip", 0, (), PING | {"size": 64, "sample": 72694, "one_way": 36347.0}),
    ("dragon", "latency", 0, (), PING | {"size": 8, "iterations": 30, "step": 1000.0}),
    ("mpi4py-ve", "host-to-host", 0, (), PING | {
        "size": 8, "iterations": 10, "one_way": 8010.0, "bandwidth": 0.000930153 * (1 << 30),
    }),
    ("eight-measurements", "table-1", 3, (), PING | {
        "size": 4, "launch": 1, "iterations": 100_000, "one_way": 250.0,
    }),
    # 1 Mbps is 2^20 bits per second.
    ("netpipe", "np-out", 0, (), PING | {
        "size": 1, "one_way": 7630.0, "step": 10.0, "bandwidth": 0.999486 * (1 << 17),
    }),
    ("netpipe", "screen-tcp", 0, (), {
        "transport": "tcp", "iterations": 12620, "counted": True, "one_way": 7630.0,
    }),
    # Of version 2, and of MPICH's: seconds, and messages of no bytes.
    ("netpipe", "screen-tcp", 0, (("7.63 usec", "0.00000763 sec"),), {"one_way": 7630.0}),
    ("netpipe", "screen-tcp", 0, (("1 bytes  12620", "0 bytes  12620"), ("1.00 M", "0.00 M")), {
        "size": 0, "bandwidth": None,
    }),
    ("netpipe", "version-5", 0, (), PING | {
        "size": 1, "one_way": 1110.0, "bandwidth": 7.207e6 / 8, "iterations": 24999,
    }),
    ("netpipe", "version-5", 1, (), {"size": 12291, "one_way": 3980.0, "bandwidth": 24.705e9 / 8}),
    # Its file, and that of version 4.
    ("netpipe", "np-out-5", 1, (), {
        "size": 1572867, "one_way": 157290.0, "step": 10.0, "bandwidth": 80e9 / 8,
    }),
    ("netpipe", "np-out", 0, (("0.999486   0.0", "0.999486   0.98000000   0.97000000   0.0"),), {
        "size": 1, "one_way": 7630.0, "bandwidth": 0.999486 * (1 << 17),
    }),
    ("mpptest", "cit", 1, (), {"size": 32, "one_way": 1512.0, "step": 0.001, "pair": (0, 1)}),
    ("mpptest", "cit", 1, (("21164021.16\n", "21164021.16\t1.400000\t2.500000\n"),), {
        "spread": {"min": 1400.0, "max": 2500.0}, "variant": (),
    }),
    ("mpptest", "cit", 0, (("type = blocking", "type = nonblocking"),), {
        "variant": (("protocol", "nonblocking"),),
    }),
    ("nccl-tests", "sendrecv", -2, (), {
        "pattern": "exchange", "transport": "nccl", "buffers": "separate", "size": 2097152,
        "iterations": 20, "one_way": 76400.0, "bandwidth": 27.45e9,
    }),
    ("nccl-tests", "sendrecv", -1, (), {"buffers": "same", "one_way": 75920.0}),
    ("nccl-tests", "sendrecv-error", -2, (), {
        "pattern": "exchange", "buffers": "separate", "size": 1 << 20, "one_way": 61700.0,
        "iterations": 20, "bandwidth": 16.99e9,
    }),
    # JSON has more digits.
    ("nccl-tests", "sendrecv-json", 0, (), {"one_way": 16214.5}),
    ("perftest", "send-lat", -1, (), PING | {
        "transport": "verbs", "size": 4096, "iterations": 1000, "one_way": 2080.0, "spread": {
            "min": 2010.0, "max": 5520.0, "p50": 2080.0, "stddev": 80.0, "p99": 2250.0,
            "p99.9": 5520.0,
        },
    }),
    ("perftest", "send-lat", 0, (("Send Latency", "RDMA_Write Latency"),), {
        "pattern": "put-pingpong", "mode": "onesided", "messages_per_iteration": 2,
        "one_way": 850.0, "variant": (),
    }),
    # A read is not half of anything.
    ("perftest", "send-lat", 0, (("Send Latency", "RDMA_Read Latency"),), {
        "pattern": "get", "mode": "onesided", "messages_per_iteration": 1, "one_way": 850.0,
    }),
    ("perftest", "write-bw", -1, (), {
        "pattern": "put", "window": 128, "bandwidth": 11779.42 * (1 << 20), "rate": 188471.0,
    }),
    ("perftest", "write-bw", -1, (("MB/sec", "Gb/sec"),), {"bandwidth": 11779.42 * 1.25e8}),
    ("perftest", "write-bw", -1, (("TX depth ", ""),), {
        "unknown": ("window",), "is_rate": True, "variant": (), "message_places": "unknown",
    }),
    ("perftest", "write-bw", -1, (("Number of qps ", ""),), {
        "unknown": (), "window": 128, "variant": (("queue pairs", "unknown"),),
    }),
    ("perftest", "send-lat", -1, (("TX depth ", ""), ("Number of qps ", "")), PING | {
        "unknown": (), "variant": (),
    }),
    ("perftest", "write-bw", -1,
     (("MB/sec", "Gb/sec"), ("RDMA_Write BW", "Send Bidirectional BW")),
     BOTH | {"bandwidth": 11779.42 * 1.25e8 / 2}),
    ("perftest", "send-lat-json", 0, (), {"one_way": 850.0}),
    # A round trip has two messages, and so has a transaction.
    ("qperf", "latency-bandwidth", 0, (), {
        "transport": "tcp", "size": 64, "sample": 2 * 10200, "step": 100.0,
    }),
    ("qperf", "latency-bandwidth", 1, (), STREAM | {
        "bandwidth": 27.8e6, "sample": round(1e9 * 64 / 27.8e6),
    }),
    ("qperf", "sizes", 2, (), {"size": 1024, "sample": 2 * 10400}),
    # Of an unknown size.
    ("qperf", "with-rates", 0, (), STREAM | {
        "known_size": None, "bandwidth": 2.66e9, "rate": 40500.0, "one_way": 1e9 / 40500,
    }),
    ("qperf", "with-rates", 1, (), PING | {"known_size": None, "one_way": 17700.0}),
    ("fi_pingpong", "tcp", 1, (), PING | {
        "transport": "libfabric", "size": 1024, "one_way": 11750.0, "iterations": 10_000,
    }),
    ("fabtests", "rdm-pingpong", 2, (), PING | {
        "transport": "libfabric", "size": 1024, "one_way": 11750.0, "iterations": 10_000,
        "variant": (("test", "rdm_pingpong"),),
    }),
    ("fabtests", "rdm-pingpong", 2, (("fi_rdm_pingpong", "client"),), PING | {"variant": ()}),
    ("fabtests", "rma-bw", 1, (), {
        "pattern": "put", "mode": "onesided", "size": 1024, "bandwidth": 721.13e6, "window": 32,
    }),
    ("fabtests", "rma-bw", 2, ((" -o write -W 32", " -o read"),), {"pattern": "get", "window": 64}),
    ("fabtests", "rma-bw", 1, (("fi_rma_bw", "fi_msg_bw"),), STREAM | {"window": 32}),
    ("mpi4py-bench", "numpy", 0, (), PING | {
        "transport": "mpi4py", "size": 8, "one_way": 1095.9227, "spread": {"stddev": 27983.0},
        "iterations": 10_000, "unknown": ("object",),
    }),
    ("mpi4py-bench", "numpy", 0, (
        (" | Time Mean [s] ± StdDev [s]  Samples", ""),
        (" | 1.0959227e-06 ± 2.7983e-05    10000", ""),
    ), {"bandwidth": 7.3e6, "counted": False}),
    ("mpi-benchmarks-jl", "pingpong", 1, (), PING | {
        "transport": "mpi", "size": 8, "one_way": 1291.143, "iterations": 1000, "buffers": "same",
    }),
    ("mpi-benchmarks-jl", "pingpong", 1, (("IMB Pingpong", "IMB Pingping"),), {
        "pattern": "pingping", "buffers": "separate",
    }),
    ("iperf3", "events.json", 0, (), STREAM | {"size": 131072, "bandwidth": 9742874698.0 / 8}),
    ("iperf3", "events.json", 2, (), {"slice": 1, "bandwidth": 9500883582.2 / 8}),
    ("iperf3", "text.txt", 0, (), STREAM | {
        "transport": "tcp", "known_size": None, "bandwidth": 1.78e9 / 8,
        "variant": (("direction", "to client"), ("over", "whole test"), ("streams", "2")),
    }),
    ("iperf3", "text.txt", 2, (), {"slice": 1, "bandwidth": 1.67e9 / 8}),
    # What was sent, but for what was lost.
    ("iperf3", "udp-old", 0, (), STREAM | {
        "transport": "udp", "bandwidth": 47.6e6 / 8 * (1 - 145 / 1454),
        "variant": (("direction", "to server"), ("over", "whole test"), ("streams", "1")),
    }),
    ("netperf", "tcp-rr", 0, (), PING | {
        "transport": "tcp", "mode": "blocking", "size": 64, "sample": round(1e9 / 43251.34),
        "step": 1e9 / 2 / 43251.34 * 0.01 / 43251.34, "counted": False,
        "variant": (("test", "TCP_RR"),),
    }),
    ("netperf", "tcp-rr", 0, (("TCP", "UDP"),), {
        "transport": "udp", "variant": (("test", "UDP_RR"),),
    }),
    ("netperf", "tcp-stream", 0, (), STREAM | {
        "size": 1500, "bandwidth": 9405.64e6 / 8, "variant": (("test", "TCP_STREAM"),),
        "sample": round(1e9 * 1500 / (9405.64e6 / 8)),
    }),
    *(
        ("netperf", "tcp-stream", 0, (("10^6bits", unit), ("9405.64", "2.50")),
         {"bandwidth": 2.5 * amount})
        for unit, amount in (
            ("10^3bits", 125), ("10^9bits", 1.25e8), ("KBytes  ", 1 << 10), ("MBytes  ", 1 << 20),
            ("GBytes  ", 1 << 30),
        )
    ),
    # Of datagrams, those that have arrived.
    ("netperf", "udp-stream", 0, (), {
        "transport": "udp", "size": 1024, "bandwidth": 1113.98e6 / 8,
        "one_way": 1024 / (1113.98e6 / 8) * 1e9,
    }),
    ("netperf", "selected-csv", 0, (), PING | {
        "transport": "unknown", "known_size": None, "variant": (("test", "unknown"),),
        "sample": 27840, "step": 5.0, "spread": {"p50": 13000, "p99": 29500},
    }),
    ("netperf", "columns", 0, (), PING | {
        "transport": "tcp", "size": 64, "sample": 27840, "spread": {"p99": 29500},
    }),
    # The size of what a stream sends is not selected.
    ("netperf", "selected-csv", 0,
     (("Throughput,", "Throughput,Throughput Units,"), ("35854.15", "35854.15,10^6bits/s")),
     STREAM | {"known_size": None, "bandwidth": 35854.15e6 / 8}),
    # A row begins with any text.
    ("netperf", "selected-csv", 0,
     (("Throughput,", "Result Tag,Throughput,"), ("35854.15", '"call 1, of 2",35854.15')),
     PING | {"sample": 27840, "variant": (("result tag", "call 1, of 2"), ("test", "unknown"))}),
    ("netperf", "selected-keys", 0, (), {
        "transport": "tcp", "size": 8, "sample": 351660, "spread": {
            "min": 140500, "p50": 167000, "p90": 195500, "p99": 265000, "max": 2060000,
            "stddev": 30535,
        },
    }),
    ("sockperf", "ping-pong", 0, (), {
        "transport": "udp", "known_size": None, "iterations": 40925, "sample": 6710 * 2 * 40925,
        "step": 1.0, "spread": {
            "min": 5568, "p50": 5918, "p90": 7561, "p99": 9063, "p99.9": 36143, "max": 2522402,
            "stddev": 23015,
        },
    }),
    ("sockperf", "throughput", 0, (), STREAM | {
        "size": 1000, "bandwidth": 150.608 * 2**20, "rate": 157924,
    }),
    # Bandwidth and rate of few messages are of many sizes; the note says which.
    ("sockperf", "throughput", 0,
     (("157924", "10"), ("150.608", "0.010"), ("1204.865", "0.076")), {"size": 1000}),
    # As the times of sending and receiving of the first say: 2.414831122 and 2.414844262.
    ("sockperf", "full-log", 0, (), {"transport": "unknown", "size": 64, "sample": 13140}),
    ("ucx-perftest", "latency", 0, (), PING | {
        "mode": "blocking", "transport": "ucx", "size": 64, "variant": (("test", "unknown"),),
        "iterations": 500, "sample": 500 * 2 * 162301, "spread": {"p50": 647}, "step": 1.0,
        "bandwidth": None, "rate": None,
    }),
    ("ucx-perftest", "bandwidth-final-only", 0, (), STREAM | {
        "mode": "nonblocking", "size": 65536, "one_way": 572520.0, "counted": False, "rate": 1747,
        # Percentiles are those of calls.
        "bandwidth": 109.17 * (1 << 20), "spread": {},
    }),
    ("ucx-perftest", "bandwidth-final-only", 0, (), {
        "unknown": ("window",), "is_rate": True, "message_places": "unknown",
    }),
    ("ucx-perftest", "old-latency", 0, (), {
        "pattern": "put-pingpong", "mode": "onesided", "size": 8, "one_way": 818.0,
        "iterations": 1_000_000, "unknown": (),
        "variant": (("test", "put latency"),),
    }),
    ("ucx-perftest", "old-latency", 0, (("put_lat", "tag_bw"),), STREAM | {
        "size": 8, "bandwidth": 9.33 * (1 << 20), "variant": (("test", "tag bandwidth"),),
    }),
    # What its server prints stands between the heading and the rows.
    ("ucx-perftest", "old-latency", 0,
     (("put_lat", ""), ("   610427", "\n| Test:  tag match latency  |\n   610427")), PING | {
         "size": 8, "variant": (("test", "tag match latency"),),
     }),
    # A size that the digits do not tell.
    ("ucx-perftest", "latency", 0,
     (("0.38       0.38        6161", "0.12  0.12  1852"),), {"known_size": None}),
    ("ucx-perftest", "csv", 0, (), PING | {
        "size": 64, "one_way": 54788.0, "spread": {"p50": 646}, "variant": (("test", "unknown"),),
    }),
    ("ucx-perftest", "csv-server", 0, (), PING | {
        "size": 64, "one_way": 54788.0, "variant": (("test", "tag match latency"),),
    }),
]  # fmt: skip
# What is said of all rows.
SOURCES = [
    ("osu", "latency", {"version": "7.4", "statistic": "mean"}),
    ("imb", "four-benchmarks", {"version": "2021.3", "date": "2023-06-01T23:13:46+00:00"}),
    # The typical time is the median.
    ("perftest", "send-lat", {"statistic": "median"}),
    ("netperf", "selected-csv", {"statistic": "mean", "facts": {}}),
    ("iperf3", "two-streams.json", {
        "version": "3.12", "date": "2026-11-24T15:17:12+00:00", "hosts": ["10.0.0.2", "10.0.0.2"],
    }),
    ("ucx-perftest", "latency", {
        "statistic": "mean", "place": 4, "facts": {"size": "by bandwidth and message rate"},
    }),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "name", "row", "changes", "wanted"), ROWS, ids=lambda each: str(each)[:30]
)
def test_a_row_has_its_figures(tool, name, row, changes, wanted):
    found = measured(sample(tool, name, *changes), tool)[row]
    for which, value in wanted.items():
        is_number = isinstance(value, float | dict)
        assert figure(found, which) == (pytest.approx(value, rel=5e-5) if is_number else value)


@pytest.mark.parametrize(("tool", "name", "wanted"), SOURCES, ids=lambda each: str(each)[:30])
def test_a_text_says_where_and_when(tool, name, wanted):
    source = imported_run(sample(tool, name), tool).sources[0]
    assert {which: getattr(source, which) for which in wanted} == wanted
