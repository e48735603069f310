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
    ("ucx-perftest", "old-latency", (("-t put_lat", "\\\n  -t put_lat -m host,cuda"),), {
        "pattern": "put-pingpong",
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
     (("1222494", "611247"), ("9.35       9.33", "4.67  4.66")), {
         "pattern": "put-pingpong", "size": 8, "one_way": 818.0,
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


WINDOW = "osu_bw{}\n"
BW = sample("osu", "bw") + "\n"


@pytest.mark.parametrize(
    ("text", "windows"),
    [
        # Each above its table, and a script above all of them.
        (WINDOW.format("") + BW + WINDOW.format(" -W 32") + BW, [64, 32]),
        (WINDOW.format(" -W 32") * 2 + BW * 2, [32]),
        (WINDOW.format("") + WINDOW.format(" -W 32") + BW * 2, [None]),
        (WINDOW.format("") + "osu_bibw -W 32\n" + BW, [None]),
        (WINDOW.format(" -x 'a;b' -W 16; date"), []),
    ],
)
def test_of_commands_that_differ_above_a_table_the_last_counts_unless_they_are_of_a_script(
    text, windows
):
    if not windows:
        text, windows = text + BW, [16]
    found = dict.fromkeys(each.configuration for each in measured(text, "osu"))
    assert (
        list(dict.fromkeys(None if "window" in each.unknown else each.window for each in found))
        == windows
    )


def test_each_run_of_netpipe_has_what_its_own_screen_says():
    usual = sample("netpipe", "screen-tcp")
    one_way = sample("netpipe", "screen-tcp", ("Now", "Streaming in one direction only.\nNow"))
    for texts in ((usual, one_way), (one_way, usual)):
        found = measured("".join(texts), "netpipe")
        patterns = dict.fromkeys(each.configuration.pattern for each in found)
        assert len(patterns) == 2
        assert [*patterns] == ["stream" if text is one_way else "pingpong" for text in texts]
