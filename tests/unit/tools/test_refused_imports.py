"""What tools do not print, or print of something that is not read here, is refused by name."""

import json

import pytest

from halftrip.errors import HalftripError
from harness.imports import imported_run, measured, said_of, sample

# Sample, what is replaced in it, by what, and what is said; by tool. The general mistakes, such as
# a cut-off line or a figure below zero, are those of test_bad_imports.
CHANGES = {
    "osu": [
        ("mbw-mr", "pairs: 1 ]", "pairs: 0 ]", "line 3: no pairs"),
        ("mbw-mr", "# [ pairs: 1 ] [ window size: 64 ]\n", "", "says of how many pairs it has"),
        ("one-sided", "MPI_Put Latency", "MPI Latency", "line 2: a line of MPI_Put or MPI_Get"),
        ("one-sided", "MPI_Put Latency", "MPI_Accumulate Latency", "line 1: no point-to-point"),
        ("mbw-mr", "window size: 64", "window size: 0", "line 3: a window of 0"),
        ("mbw-mr", "Multiple Bandwidth / Message Rate", "Allreduce Latency",
         "line 1: no point-to-point"),
        ("mbw-mr", "# Size  ", "# Sizes  ", "line 5: it ends before the heading"),
        ("latency-validated", "0.49              Pass", "0.49 Fail",
         "line 5: its validation failed"),
    ],
    "imb": [
        *(
            ("four-benchmarks", "# Benchmarking PingPing ", f"# Benchmarking {name} ",
             f"line 42: '{name}' is not read here: PingPong, ")
            for name in ("Reduce", "Barrier")
        ),
        ("four-benchmarks", "MPI-1 part", "MPI-IO part", "only MPI-1, EXT and RMA are"),
        ("four-benchmarks", "#processes = 2 ", "#processes = 4 ", "4 processes: only those of a"),
        ("ranges", "# #processes = 2 \n", "", "line 8: unknown processes"),
        ("ranges", "#processes = 2 ", "#processes = 1 ", "line 9: 1 processes"),
        ("ranges", "0.75         0.80         0.77", "0.75         0.80         0.87",
         "line 11: t_avg[usec] of 0.87 is not between"),
        ("ranges", "0.80         0.77      2560", "0.90         0.77      2560",
         "line 11: 2048 bytes in 0.90 us"),
        ("four-benchmarks", "# #processes = 2 ", "# ( 2 groups of 2 processes each running",
         "several groups"),
        ("four-benchmarks", "t[usec]", "t_min[usec]", "not the columns of PingPong"),
        ("four-benchmarks", "      0.35  ", "   time-out.", "'time-out.' is no number"),
        ("four-benchmarks", "         1000         0.35", "            0         0.35",
         "no repetitions"),
        ("four-benchmarks", "         0.35", "         0.00", "a message that took no time"),
        ("four-benchmarks", "      8371594", "            0", "no messages"),
        ("four-benchmarks", "            0         1000         0.33", "\n            0  1000  0.3",
         "line 37: its figures have other decimals"),
        ("four-benchmarks", "Thu Jun", "Someday", "is no date"),
    ],
    "hpcbench": [
        ("fixed", "Test repetition: 5", "Test repetition: 6", "line 18: 5 rows, where it says 6"),
        ("fixed", "\n3  ", "\n4  ", "line 17: repetition 4 behind 4"),
        ("fixed", "822.8124", "0.0000", "line 14: no throughput"),
        ("fixed", "Iteration : 492", "Iteration : 0", "line 13: no iterations"),
        ("fixed", "# Blocking", "# Other", "no comment with communication (MPI_...) below"),
        ("fixed", "Wed Jul 14", "Wed Jul 44", "line 1: 'Wed Jul 44 16:32:53 2004' is no date"),
        ("exponential", "        16 ", "         8 ", "size 8 comes a second time"),
        ("round-trip", "(2)", "(3)", "line 5: round trip 3 behind 3"),
        ("round-trip", "72.716 usec", "72.716 sec", "line 4: 'sec' is neither usec nor msec"),
        ("system-log", "Watch times: 3", "Watch times: 4", "3 rows of the system log, where it"),
        ("system-log", "<eth0>", "<eth1>", "the table of eth1, where eth0 is the next"),
    ],
    "fi_pingpong": [
        ("tcp", "1k      10k", "1k      20k", "were answered"),
        ("tcp", "11.75", "11.7", "usec/xfer of 11.7 has lost digits"),
        ("tcp", "1k  ", "2k  ", "not those of messages of 2k bytes"),
        # 1,500 bytes are 1k, too.
        ("tcp", "87.15", "127.66", "not those of messages of 1k bytes"),
        ("tcp", "19m", "29m", "not those of messages of 1k bytes"),
    ],
    "fabtests": [
        ("rdm-pingpong", "fi_rdm_pingpong", "fi_rma_pingpong", "'rma_pingpong' is not read here"),
        ("rdm-pingpong", "fi_rdm_pingpong", "fi_rdm_bw", "not those of messages of 64 bytes"),
        ("rma-bw", "fi_rma_bw", "client", "no command above says of which test; --test rdm_bw"),
        ("rma-bw", "-o write", "-o writedata", "-o 'writedata' is not read here: write, read"),
        ("rma-bw", "721.13", "721.1", "MB/sec of 721.1 has lost digits"),
    ],
    "mpi4py-bench": [
        ("numpy", "694.84", "69.48", "1024 bytes in 1.4737150e-06 s are not 69.48 MB/s"),
        ("numpy", " 1.4737150e-06 ", " 1.473715e-06 ", "not the columns of mpi4py.bench"),
        ("numpy", "# Size [B]", "# Sizes", "ends before the heading"),
    ],
    "mpi-benchmarks-jl": [
        ("pingpong", "IMB Pingpong", "IMB Allreduce", "'IMB Allreduce' is not read here: IMB "),
        ("pingpong", "Running benchmark", "Benchmark", "--test NAME does"),
        ("pingpong", "2911431224137611e-6,", "2911431224137611,", "are not '6.196059802451793'"),
        ("pingpong", "e-6,0.0", ",0.0", "has lost digits"),
        ("pingpong", "time (seconds),throughput", "times,throughput", "ends before the heading"),
    ],
    "iperf3": [
        ("text.txt", "424 MBytes  1.78 ", "424 MBytes  17.8 ", "and 1 more lines"),
        ("text.txt", "[SUM]   0.00-2.00 ", "[  9]   0.00-2.00 ", "not one line of the receiver"),
        ("text.txt", " receiver", " sender", "line 23: not one line of the receiver"),
        ("text.txt", "214 MBytes   897 ", "107 MBytes   449 ", "line 23: its streams are not as"),
        ("text.txt", "199 MBytes  1.67 ", "199 MBytes  16.7 ", "line 15: 16.7 Gbits/sec do not"),
        ("text.txt", "[SUM]   1.00-2.00 ", "[SUM]   0.50-1.50 ", "behind one to 1.0"),
        ("text.txt", "iperf Done.", "iperf3: error - gone", "ended with an error: gone"),
        ("udp-old.txt", "145/1454", "1454/1454", "and 1 more lines of this"),
        ("udp-old.txt", "(10%)", "", "line 8: not one line of the receiver"),
        ("events.json", '"event":"end"', '"event":"ended"', "0 events 'end', where a test has"),
        ("events.json", '"event":"end","data":{', '"event":"error","data":"gone","x":{',
         "line 4: iperf3 has failed: gone"),
        ("events.json", '"start":1.000124', '"start":0.5', "an interval at 0.5 s, behind one"),
        ("two-streams.json", '"end":\t{', '"error": "interrupt - it has terminated", "end":\t{',
         "interrupt"),
        ("two-streams.json", '"blksize":\t65536', '"blksize":\t0', "blocks of 0"),
        ("two-streams.json", '"protocol":\t"TCP"', '"protocol":\t"SCTP"', "sctp"),
        ("two-streams.json", '"timesecs":\t1795533432', '"timesecs":\t1', "in the year 1970"),
    ],
    "mpptest": [
        ("cit", "type = blocking", "type = blocking-bisect", "'blocking-bisect' is not read here"),
        ("cit", "0\t1\t1\t32", "0\t0\t1\t32", "ranks 0 and 0"),
        ("cit", "1.512000", "0.000000", "took no time"),
    ],
    "nccl-tests": [
        ("sendrecv", "sendrecv_perf", "all_reduce_perf", "'all_reduce_perf' is not read here"),
        ("sendrecv", "sendrecv_perf", "sendrecv", "no line says that it is of sendrecv"),
        ("sendrecv", "#  Rank  1", "# Rang 1", "1 ranks"),
        ("sendrecv", "     time   algbw", "      lat   algbw", "columns of nccl-tests that are"),
        ("sendrecv-error", "16.99  0e+00", "16.99  1e-07", "an error of 1e-07"),
        ("sendrecv-json", '"nwrong":0.0', '"nwrong":3.0', "3.0 wrong elements"),
        ("sendrecv-json", '"time":16.214513', '"time":[]', "time is no figure"),
        ("sendrecv-json", '"results":[', '"result":[', "no results"),
    ],
    "netperf": [
        ("tcp-rr", "64       64 ", "64       1024", "two sizes"),
        ("tcp-rr", "first burst 0", "first burst 16", "burst of 16"),
        ("tcp-rr", "REQUEST/RESPONSE", "Connect/Request/Response", "connects"),
        ("tcp-stream", "131072", "netperf: send_omni: failed\n131072", "failed"),
        ("udp-stream", "212992           10.00     1359834           1113.98", "", "interrupted"),
        ("selected-csv", "27.84,", "", "3 figures"),
        ("selected-csv", "35854.15", "358.54", "bits or transactions"),
        ("selected-csv", "59\n", "59\n1.00,2.00,3,4\n", "line 3: a second row below"),
        ("columns", "27.84 ", "27.x4 ", "'27.x4' is no number"),
        ("columns", "           Units      ", " " * 22, "ends before a result that is read here"),
        ("selected-keys", "RESPONSE_SIZE=8", "RESPONSE_SIZE=9", "two sizes"),
    ],
    "netpipe": [
        ("np-out", "       2 1.831728", "       2 9.831728", "line 2: 9.831728 Mbps is not the"),
        ("screen-tcp", "  1:       2 bytes", "  3:       2 bytes", "row 2, where row 4 is exp"),
        ("screen-tcp", "7.63 usec", "7.63 msec", "not all that NetPIPE prints"),
        ("screen-tcp", "1.00 Mbps in       7.63", "1.00 Mbps in       0.00", "took no time"),
    ],
    "perftest": [
        ("write-bw", "RDMA_Write BW", "Atomic_CMP_AND_SWAP BW", "is not read here: Send Latency"),
        ("write-bw", "RDMA_Write BW Test", "", "no line above says which test"),
        ("write-bw", "MsgRate[Mpps]", "#bytes", "names a column twice"),
        ("write-bw", "BW average[MB/sec]", "BW average[KB/day]", "bandwidth in 'KB/day'"),
        ("write-bw", "TX depth        : 128", "TX depth        : 0", "a TX depth of 0"),
        ("write-bw", "12.90", "0.00", "neither a latency nor a bandwidth"),
    ],
    "pyperf": [
        ("two-benchmarks.json", '"unit":"second"', '"unit":"byte"', "no times"),
        ("two-benchmarks.json", '"copy_4096"', '"pipe_bytes_64"', "a second time"),
        ("two-benchmarks.json", '"loops":1024', '"loops":0', "is 0"),
        ("two-benchmarks.json", '"date":"2026-11-24', '"date":"2026-13-24', "no date"),
        ("two-benchmarks.json", '"values":[', '"values":["x",', "no number"),
    ],
    "qperf": [
        ("latency-bandwidth", "10.2 us", "10.2 weeks", "in none of"),
        ("latency-bandwidth", "bw        =  27.8", "bx        =  27.8", "no recv_bw or bw"),
        ("with-rates", "40.5 K/sec", "40.5 per day", "in none of /sec"),
        ("latency-bandwidth", "tcp_bw:", "failed to connect", "failed"),
        ("sizes", "32 bytes", "2048 bytes", "size 1024 comes behind 2048"),
    ],
    "sockperf": [
        ("ping-pong", "sockperf: Summary: Latency is 6.710", "sockperf: ERROR: gone", "failed"),
        ("ping-pong", "is 6.710 usec", "is 6.711 usec", "an average of"),
        ("ping-pong", "<MIN>", "percentile", "before the line with <MIN>"),
        ("ping-pong", "23.015)", "23.015, 99.0% ci=[6.8, 7.0])", "no interval of 6.71"),
        ("ping-pong", "23.015)", "23.015, 99.0% ci=[6.5, 7.x])", "is no number"),
        ("throughput", "is 157924", "is 0", "nothing was sent"),
        ("throughput", "(1204.865 Mbps)", "(1205.865 Mbps)", "150.608 MBps are not"),
        ("throughput", "msg-size=1000", "msg-size=1001", "are not of 1001 bytes"),
        ("full-log", "\n1, 2.4", "\n0, 2.4", "out of order"),
        ("full-log", "Total 15 ", "Total 16 ", "after 15 of 16"),
    ],
    "ucx-perftest": [
        ("latency", "Final:  ", "Finel:  ", "interrupted"),
        ("latency", "    6161\n", "\n", "7 figures"),
        ("latency", "162.301   162.301", "162.301     0.000", "took no time"),
        ("bandwidth-final-only", "        500  ", "tag_bw  500  ", "batch file"),
        ("csv-server", "tag match latency", "atomic add latency", "not read here"),
        ("old-latency", "put_lat", "fadd", "'fadd' is not read here: get, and lat and bw of am, "),
        ("old-latency", "put_lat", "add_lat", "'add_lat' is not read here"),
        ("old-latency", "ucx_perftest", "ucx_perf", "line 5: no line above says"),
        ("old-latency", "0.812     0.816", "0.812     x.816", "line 8: a row with a figure that"),
        ("csv-server", "| Data layout:", "| Test:       x |\n| Data layout:", "'x' is not read"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "change"),
    [
        pytest.param(tool, each, id=f"{tool}-{each[-1]}")
        for tool in CHANGES
        for each in CHANGES[tool]
    ],
)
def test_what_a_tool_does_not_print(tool, change):
    name, old, new, said = change
    assert said in said_of(sample(tool, name, (old, new)), tool)


TCP_STREAM = "MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET to b () port 0 AF_INET\n"


def test_what_was_not_selected_of_netperf():
    for text, said in (
        ("REQUEST_SIZE=8\n", "neither THROUGHPUT_UNITS nor"),
        ("THROUGHPUT=8.00\n", "neither THROUGHPUT_UNITS nor"),
        ("MAX_LATENCY=8\n", "select one"),
        ("DIRECTION=Send\n", "no THROUGHPUT"),
        ("DIRECTION=Send\nTHROUGHPUT=8.00\n", "in a unit that is not said: select"),
        ('Result Tag,Throughput\n"a",8.00\n', "neither THROUGHPUT_UNITS nor"),
        ("Result Tag,Throughput\nJob 1,of 2\n", "interrupted"),
        ("DIRECTION=Send\nTHROUGHPUT=8.00\nTHROUGHPUT_UNITS=cars/s\n", "in 'cars'"),
        (TCP_STREAM, "ends before a result"),
        ('Throughput,Throughput Units\n8.00,"Trans/s\n', "no CSV"),
    ):
        with pytest.raises(HalftripError, match=said):
            imported_run(text, "netperf")


def test_what_is_interrupted_or_of_several_threads():
    text = sample("ucx-perftest", "latency")
    row = text[text.index("Final:") :]
    for whole, said in (
        (text + row, "line 7: a second Final"),
        (text.replace(row, "Final:      500     162.301     0.38     6161\n"), "several threads"),
        (sample("pyperf", "two-benchmarks.json")[:900], "no JSON"),
        (sample("iperf3", "two-streams.json")[:2000], "no JSON"),
    ):
        with pytest.raises(HalftripError, match=said):
            measured(whole)


@pytest.mark.parametrize(("bits", "said"), [(-1.5, "is negative"), (1e300, "is too")])
def test_a_bandwidth_of_a_stream_of_iperf3_that_is_none(bits, said):
    for where in ("sender", "receiver", "interval"):
        found = json.loads(sample("iperf3", "two-streams.json"))
        one = found["intervals"][0] if where == "interval" else found["end"]
        stream = one["streams"][0]
        (stream if where == "interval" else stream[where])["bits_per_second"] = bits
        with pytest.raises(HalftripError, match=rf"streams\[0\]\S*bits_per_second: .* {said}"):
            measured(json.dumps(found))


@pytest.mark.parametrize(("bits", "said"), [(0, "nothing was received"), (5e-324, "is too small")])
def test_a_bandwidth_of_iperf3_that_is_almost_none(bits, said):
    found = json.loads(sample("iperf3", "two-streams.json"))
    found["end"]["sum_received"]["bits_per_second"] = bits
    with pytest.raises(HalftripError, match=said):
        measured(json.dumps(found) + "\n")


def test_a_message_is_short_whatever_a_text_says():
    said = {"start": {"version": "iperf 3.12"}, "error": "unable to connect: " + "x " * 1000}
    long = sample("qperf", "sizes", ("10.4 us", "10.4 " + "x" * 1000))
    for text, begin in (
        (json.dumps(said), "iperf3 has failed: unable to connect: x"),
        (long, "is in none of ns, us"),
    ):
        said = said_of(text)
        assert begin in said
        assert len(said) < 400


def test_a_log_alone_and_a_line_that_is_cut_off():
    fixed, logged = (sample("hpcbench", name) for name in ("fixed", "system-log"))
    alone = logged[logged.index("# node1 syslog") :]
    assert "line 1: a system log without the output of its test" in said_of(alone)
    assert "line 17: 4 rows, where it says 5 repetitions, and 1 more" in said_of(fixed[:-2])


def test_lines_that_are_longer_than_any_tool_prints_take_no_longer():
    """Each is tried from its begin alone, not from every place in it."""
    prose = "$ mpirun " + "a" * 10**6
    assert imported_run(f"{prose}\n{sample('hpcbench', 'fixed')}").sources[0].place == 2
    comments = sample("hpcbench", "fixed").replace("# Hosts: ", "# Hosts: " + " " * 10**6, 1)
    assert "line 3: more comments than the tool prints" in said_of(comments)
    names = sample("hpcbench", "system-log").replace("( loop", "( " + "x " * 10**5, 1)
    assert "a line that is longer than the tool prints" in said_of(names)
