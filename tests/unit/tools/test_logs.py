"""The tables of logs: whatever stands around their lines or in front of them, whatever the encoding
and the line ends, they are read as they are by themselves."""

import quopri
import random

import pytest

from halftrip.errors import HalftripError, UsageError
from halftrip.registry import IMPORTERS
from halftrip.results.records import Measurement
from halftrip.results.reported import Source
from halftrip.results.run_file import assemble
from halftrip.tools import mail
from halftrip.tools import wrapped as wrap
from harness.choice import drawn
from harness.imports import (
    NOISE,
    SAMPLES,
    imported,
    imported_run,
    measured,
    one_way,
    said_of,
    sample,
)

LATENCY = """\
# OSU MPI Latency Test v5.8
# Size          Latency (us)
0                       1.31
8                       1.32
1024                    2.05
65536                  13.04
"""
BANDWIDTH = """\
# OSU MPI Bandwidth Test v5.8
# Size      Bandwidth (MB/s)
8                      21.70
65536               11042.10
"""
HTML = """\
<table><tr><td># OSU MPI Latency Test v5.8</td></tr>
<tr><td># Size</td><td>Latency (us)</td></tr><tr><td>8</td><td>1.32</td></tr>
<tr><td>64</td><td>1.40</td></tr></table>
"""
_LABELS = (
    "[1,0]<stdout>:",
    "[1,0]<stdout>: ",
    "0: ",
    " 0: ",
    "[0] ",
    "[rank 0] ",
    "[prterun-n1-7@1,0]<stdout>: ",
)
PREFIXES = [
    *_LABELS, "    ", "\t", "# ", "//  ", " * ", "# 8: ", "> ", ">> ", "> > ",
    "2026-11-27T15:21:21.123Z ", "15:21:21 ",
    "[2026-11-27 15:21:21] ", "[   12.345678] ", "2026-11-27 15:21:21 [1,0]<stdout>:",
    "Fri Nov 27 15:21:21 2026<stdout>:",
]  # fmt: skip
ALL = [
    pytest.param(path.read_bytes().decode(), id=f"{path.parent.name}-{path.stem}")
    for path in sorted(SAMPLES.glob("*/*"))
]
each_sample = pytest.mark.parametrize("text", ALL)


def some(name, changes, count):
    """Each sample with so many of these, which differ from one to the next."""
    return pytest.mark.parametrize(
        ("text", name),
        [
            pytest.param(*sample.values, *change.values, id=f"{change.id}-{sample.id}")
            for number, sample in enumerate(ALL)
            for change in drawn(changes, count, seed=number)
        ],
    )


def figures(content):
    """What a text has, wherever its lines are."""
    return [
        (each.configuration, each.launch, each.slice, each.samples.tolist(),
         each.reported and each.reported.figures)
        for each in measured(content)
    ]  # fmt: skip


@some("prefix", [pytest.param(prefix, id=repr(prefix)) for prefix in PREFIXES], 5)
def test_behind_a_prefix(text, prefix):
    lines = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")
    changed = "".join(f"{prefix}{line}".rstrip(" ") + "\n" for line in lines)
    if prefix.strip() in [each.strip() for each in _LABELS]:
        other = prefix.replace("0", "1")
        changed = f"{other}8  1.00\n{changed}{other}16  1.00\n"
    assert figures(changed) == figures(text)
    assert said_of(changed) == ""


CHANGES = {
    "mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "utf-16": lambda text: text.encode("utf-16"),
    "big-endian": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "latin-1": lambda text: "Größe\n".encode("latin-1") + text.encode(),
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "cr": lambda text: text.replace("\n", "\r").encode(),
    "colours": lambda text: "".join(
        f"\x1b[0;32m{line}\x1b[0m\n" for line in text.split("\n")
    ).encode(),
    "markdown": lambda text: f"```\n{text}```\n".encode(),
    "html": lambda text: (
        "<pre>" + text.replace("<", "&lt;").replace("&", "&amp;", 0) + "</pre>\n"
    ).encode(),
    "quoted-printable": lambda text: quopri.encodestring(text.encode()),
    "mail": lambda text: (
        b"Content-transfer-encoding: Quoted-Printable\r\n\r\nGr=C3=B6=C3=9Fe=\r\n\r\n"
        + quopri.encodestring(text.encode()).replace(b"\n", b"\r\n")
    ),
    "wide": lambda text: text.translate(
        {n: n + 0xFEE0 for n in range(ord("0"), ord(":"))}
    ).encode(),
}


@some("change", [pytest.param(each, id=name) for name, each in CHANGES.items()], 4)
def test_in_any_encoding_and_dress(text, change):
    text = text if text.endswith("\n") else f"{text}\n"
    assert figures(change(text)) == figures(text)


def test_only_what_is_surely_quoted_printable_is_decoded():
    for text in (
        *(each.values[0].encode() for each in ALL),
        b"A=3D\nB=8\n",
        b"A =\n8\n",
        b"A=16\n",
    ):
        assert mail.decoded(text) == text
    head = b"Content-Transfer-Encoding: %s\n\n----\nA=3D8=\n9\n"
    for end in (b"From a@b Fri Nov 27 2026\n", b"--=_1\n"):
        box = b'Content-Type: multipart/mixed; boundary="=_1"\n' + head % b"quoted-printable"
        box += end + b"A=3D9\n" + head % b"7bit"
        # Lines keep their numbers.
        assert mail.decoded(box) == box.replace(b"A=3D8=\n9\n", b"A=89\n\n", 1)
    # An archive may have the header, and the text as it was.
    as_it_was = head % b"quoted-printable" + b"B=8\n"
    assert mail.decoded(as_it_was) == as_it_was
    row = b"8" + b" " * 73 + b"1.32"
    broken = row[:75] + b"=\n" + row[75:] + b"\n16 1.40\n"
    assert mail.decoded(broken) == row + b"\n\n16 1.40\n"


@each_sample
def test_among_lines_of_others(text):
    draw = random.Random(1)
    noise = "\n".join(NOISE) + "\n"
    whole = f"{noise}{text}\n{noise}"
    if not text.startswith("{"):
        for each in NOISE:
            lines = text.split("\n")
            lines.insert(draw.randrange(len(lines)), each)
            assert figures("\n".join(lines)) == figures(text), each
    assert figures(whole) == figures(text)
    assert said_of(whole) == ""


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (LATENCY.replace("8  ", "8  ", 1) + "real 2.59\nuser 0.20\n", 4),
        (LATENCY.replace("0      ", "# Datatype: MPI_CHAR.\n0      ", 1), 4),
        (LATENCY[:-1], 4),
        (HTML, 2),
        (LATENCY + BANDWIDTH, 6),
        ("# OSU MPI Allreduce Latency Test v5.8\n# Size Avg Latency(us)\n4 2.00\n8 2.10\n"
         + LATENCY + "# OSU MPI_Put Bandwidth Test v5.8\n# Size Bandwidth (MB/s)\n131072 5\n",
         4),
    ],
)  # fmt: skip
def test_rows_of_a_log(text, count):
    assert len(measured(text)) == count


def test_the_same_test_again_is_a_launch_and_others_are_other_rows():
    again = LATENCY.replace("1.32", "1.34")
    run = imported_run(LATENCY + BANDWIDTH + sample("imb", "four-benchmarks") + again)
    launches = [
        (each.launch, one_way(each))
        for each in run.measurements
        if each.configuration.size == 8 and each.configuration.pattern == "pingpong"
    ]
    # IMB measures the same as OSU, in a way of its own.
    assert launches == [(0, 1320.0), (0, 350.0), (1, 1340.0)]
    assert {dict(each.variant)["tool"] for each in run.by_configuration} == {"osu", "imb"}
    assert [each.tool for each in run.sources] == ["osu"] * 2 + ["imb"] * 4 + ["osu"]
    # Of several files, each row has its own.
    header, *rest = imported(BANDWIDTH, LATENCY, again).records
    run = assemble(header, rest)
    assert {
        (configuration.pattern, source.file, source.place)
        for configuration, source in run.source_of.items()
    } == {("stream", "source.txt", 1), ("pingpong", "source1.txt", 1)}
    assert {each.launch for each in run.measurements} == {0, 1}


@pytest.mark.parametrize(
    ("text", "said", "rows"),
    [
        (LATENCY.replace("2.05", "2.x5"), "line 5: '2.x5' is no number", 3),
        (LATENCY.replace("2.05", "2.0"), "line 5: its figures have other decimals", 3),
        (LATENCY[:-2], "line 6: its figures have other decimals", 3),
        (LATENCY.replace("1024", "4   "), "1 more lines of this", 2),
        (LATENCY.replace("8  ", "8 8"), "line 4: 3 figures below 2 columns", 3),
        # Of a table whose title is lost.
        (LATENCY + BANDWIDTH[BANDWIDTH.index("# Size") :], "line 7: no title", 4),
        (LATENCY + BANDWIDTH[: BANDWIDTH.index("8  ")], "line 7: no row of OSU", 4),
        (LATENCY + BANDWIDTH[: BANDWIDTH.index("# Size")], "line 7: it ends before the heading", 4),
        (LATENCY + "# OSU MPI Allreduce Latency Test v5.8\n# Size Avg Latency(us)\n4 2.00\n",
         "line 7: no point-to-point test", 4),
        (LATENCY + "{\n\"test_info\": {\n\"test\": 1,\n", "line 9: no JSON", 4),
    ],
)  # fmt: skip
def test_what_is_doubtful_is_left_out_and_said(text, said, rows):
    assert said in said_of(text)
    assert len(measured(text)) == rows


def test_what_a_text_does_not_say_can_be_said():
    untitled = LATENCY[LATENCY.index("# Size") :]
    assert "--test NAME says which" in said_of(untitled)
    (_, _, first, *_) = imported(untitled, test="Latency").records
    assert (first.configuration.pattern, first.configuration.cache) == ("pingpong", "hot")
    qperf = "tcp_lat:\n    latency  =  11.5 us\n"
    (_, _, first, _) = imported(
        qperf, size=64, settings={"wait": "spin", "cache": "cold", "kernel": "6.1"}
    ).records
    configuration = first.configuration
    assert (configuration.known_size, configuration.cache, configuration.buffers) == (
        64, "cold", "unknown",
    )  # fmt: skip
    assert configuration.initiator.wait == configuration.responder.wait == "spin"
    assert configuration.variant == (("kernel", "6.1"), ("test", "tcp_lat"))
    (_, _, first, _) = imported(sample("sockperf", "full-log"), transport="udp").records
    assert first.configuration.transport == "udp"
    csv = sample("ucx-perftest", "csv")
    for memory in (None, "cuda"):
        (_, _, first, _) = imported(csv, memory=memory).records
        assert {each.memory for each in first.configuration.ends} == {memory or "unknown"}


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"size": 8}, "--size: the text says"),
        ({"memory": "cuda"}, "--memory: the text says"),
        ({"transport": "tcp"}, "--transport: the text says"),
        ({"settings": {"cache": "hot"}}, "--set cache: the text says"),
        ({"settings": {"wait": "spun"}}, "--set wait: 'spun'; did you mean spin"),
    ],
)
def test_what_a_text_says_is_not_said_otherwise(told, said):
    with pytest.raises(UsageError, match=said):
        imported(LATENCY, **told)


def test_a_number_that_a_text_does_not_say_can_be_said():
    text = sample("perftest", "write-bw", ("TX depth ", ""))
    for value, said in (("16", None), ("0", "0"), ("16,32", "not one value"), ("x", "x")):
        if said is None:
            (_, _, first, *_) = imported(text, settings={"window": value}).records
            assert (first.configuration.window, first.configuration.unknown) == (16, ())
        else:
            with pytest.raises(UsageError, match=said):
                imported(text, settings={"window": value})


PINGPONG = sample("fi_pingpong", "tcp")
PERFTEST = sample("perftest", "write-bw")
IPERF3 = sample("iperf3", "udp-old")
JSON = sample("iperf3", "two-streams.json")


def other_end(text, one, other):
    """With both ends of each pair in the place of the other one."""
    return text.replace(one, "?").replace(other, one).replace("?", other)


@pytest.mark.parametrize(
    ("texts", "launches"),
    [
        # Both began within 200 us, and each exchanged 10,000 messages.
        ((PINGPONG, PINGPONG.replace("11.75", "11.76").replace("87.15", "87.07")), 1),
        ((PINGPONG, PINGPONG.replace("11.75", "11.85").replace("87.15", "86.41")), 2),
        # Both ends of two.
        ((PINGPONG,) * 4, 2),
        # One of them has lost a row.
        ((PINGPONG, PINGPONG.replace("64      10k ", "64      10x ")), 1),
        ((PERFTEST, other_end(PERFTEST, "local addr", "remote addr")), 1),
        ((PERFTEST, PERFTEST), 2),
        ((PERFTEST, PERFTEST.replace("PSN 0x79", "PSN 0x7a")), 2),
        ((IPERF3, other_end(IPERF3, "10.0.0.1 port 55620", "10.0.0.2 port 22222")), 1),
        ((IPERF3, IPERF3), 2),
        # --json-stream-full-output; and two tests.
        ((JSON, JSON), 1),
        ((JSON, JSON.replace("z5rs", "z5rt")), 2),
    ],
)
def test_a_measurement_that_both_ends_have_printed_counts_once(texts, launches):
    """Its first table, and of the other one a line says so."""
    found = imported(*texts)
    assert {each.launch for each in found.records if isinstance(each, Measurement)} == {
        *range(launches)
    }
    said = [each for each in found.left_out if "the same measurement as in line" in each]
    tables = sum(isinstance(each, Source) for each in found.records) // launches
    assert len(said) == (len(texts) - launches) * tables
    assert all("txt, printed by its other end" in each for each in said)


def test_no_table_at_all():
    for texts in (["hello\n"], ["", LATENCY[:30]]):
        with pytest.raises(HalftripError) as caught:
            imported(*texts)
        assert not isinstance(caught.value, UsageError)
    assert all(name in said_of("hello\n") for name in IMPORTERS)


def wrapped(text, last, quote=""):
    """The text as a mailer sends it: lines are broken at the last blank before a column."""
    lines = []
    for line in text.splitlines():
        rest = line
        while len(rest) > last and (at := rest.rfind(" ", 1, last + 1)) > 0:
            lines.append(quote + rest[:at].rstrip())
            rest = rest[at + 1 :]
        lines.append(quote + rest)
    return "\n".join(lines) + "\n"


def rows_of(content):
    return [(each.configuration.size, each.reported.figures) for each in measured(content)]


@pytest.mark.parametrize("last", [72, 76, 80])
@pytest.mark.parametrize("quote", ["", "> "])
@pytest.mark.parametrize(
    ("tool", "name"),
    [("nccl-tests", "sendrecv"), ("perftest", "send-lat"), ("ucx-perftest", "latency")],
)
def test_rows_that_a_mailer_has_broken(tool, name, last, quote):
    text = sample(tool, name)
    sent = wrapped(text, last, quote)
    # Other lines that say something are broken, too, such as that of the iterations.
    for each in (sent, sent.rstrip("\n")):
        assert rows_of(each) == rows_of(text)
        assert said_of(each) == ""


def test_rows_that_are_whole_are_not_joined():
    """Neither below lines of prose, nor where one of them is cut off."""
    rows = "".join(f"{8 << n:>8} {1000:>13} {1.5 + n:>15.2f} {2.5 + n:>15.2f}\n" for n in range(6))
    prose = "Here is what this program has printed on both of the machines\nthat we have\n"
    assert wrap.joined(prose + rows) == prose + rows
    cut = rows.replace("           3.50\n", "\n")
    assert cut != rows
    assert wrap.joined(prose + cut) == prose + cut
