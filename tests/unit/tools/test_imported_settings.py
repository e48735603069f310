"""Settings that titles, other lines and commands above a table say."""

import pytest

from harness.imports import figure, measured, sample

PING, BOTH, STREAM = ({"pattern": each} for each in ("pingpong", "bidirectional", "stream"))
# Tool, sample, what has been replaced in it, and what its first row then is.
ROWS = [
    # The command has the window, which the text has not; a line what a message is made of.
    ("osu", "bw", (("# OSU", "$ mpirun -np 2 ./osu_bw -W 16 -m 1:8\n# OSU"),), {"window": 16}),
    ("osu", "bw", (("MPI_CHAR", "MPI_INT"),), {
        "datatype": "byte", "variant": (("datatype", "MPI_INT"),),
    }),
    *(
        ("osu", "bw", (("MPI_CHAR", f"MPI_CHAR{made}"),), {
            "datatype": datatype, "variant": (),
        })
        for made, datatype in (("", "byte"), (" vector", "vector"), (" contiguous", "contiguous"))
    ),
    *(
        ("netpipe", "screen-tcp", (("Now", f"{said}\nNow"), *changes), wanted)
        for said, changes, wanted in (
            ("Using synchronous sends", (), PING | {"mode": "ssend"}),
            ("Performance measured without cache effects", (), {"cache": "cold"}),
            ("Streaming in one direction only.", (), STREAM | {"window": 1}),
            ("Passing data in both directions simultaneously.", (("1.00 Mbps", "2.00 Mbps"),),
             BOTH | {"one_way": 7630.0, "bandwidth": 1.00 * (1 << 17)}),
        )
    ),
    ("sockperf", "ping-pong", (("sockperf: ", "$ sockperf pp -m 64 --tcp\nsockperf: "),), {
        "size": 64,
    }),
    # Of messages in several packets, whose size only a command tells.
    *(
        ("sockperf", "throughput", (
            ("[msg/sec]", "[msg/sec], Packet Rate is about 3886 [pkt/sec] (45 ip frags / msg)"),
            ("NOTE: test was", "test was"), ("157924", "8636"), ("150.608", "538.630"),
            ("1204.865", "4309.039"), ("sockperf: ", f"{said}\nsockperf: "),
        ), STREAM | {"known_size": size, "bandwidth": 538.630 * 2**20, "rate": 8636})
        for said, size in (("$ sockperf tp -i h -m 65400 -t 10", 65400), ("", None))
    ),
    *(
        ("perftest", "write-bw", changes, {"variant": variant})
        for changes, variant in (
            ((("type : RC", "type : UC"),), (("connection", "UC"),)),
            ((("Connection type : RC", "Connection kind : RC"),), (("connection", "unknown"),)),
        )
    ),
    ("perftest", "send-lat-json", (('_type": "RC"', '_type": "UD"'),), {
        "variant": (("connection", "UD"),),
    }),
    # Of commands: a part in another line, and a size of which figures can be.
    ("ucx-perftest", "old-latency", (("-t put_lat", "\\\n  -t put_lat -m host,cuda"),), PING | {
        "variant": (("test", "put latency"),), "responder_memory": "cuda",
    }),
    *(
        ("ucx-perftest", "latency", (
            ("0.38       0.38        6161", "0.12  0.12  6161"),
            ("+---", f"$ ucx_perftest h -t tag_lat {said}\n+---"),
        ), {"known_size": size})
        for said, size in (("-s 20", 20), ("-s 30", None))
    ),
    # Some versions count round trips. Without a command, nothing tells latency and bandwidth apart.
    ("ucx-perftest", "old-latency",
     (("1222494", "611247"), ("9.35       9.33", "4.67  4.66")), PING | {
         "size": 8, "one_way": 818.0,
     }),
    ("ucx-perftest", "old-latency", (("ucx_perftest", "ucx_perf"),), {
        "known_pattern": "unknown", "size": 8, "variant": (("test", "unknown"),),
        "unknown": ("pattern",),
    }),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "name", "changes", "wanted"), ROWS, ids=lambda each: str(each)[:40]
)
def test_a_row_has_the_settings_that_its_text_says(tool, name, changes, wanted):
    found = measured(sample(tool, name, *changes), tool)[0]
    assert {which: figure(found, which) for which in wanted} == wanted
