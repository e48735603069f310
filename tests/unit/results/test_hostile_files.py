"""Run files that somebody has damaged, or made up: what makes no sense is left out and named, and
the rest loads."""

import re
import time
import tracemalloc
from pathlib import Path

import msgspec
import pytest

from halftrip.cli.show import ShowRequest, show_runs
from halftrip.errors import UsageError
from halftrip.results import reading
from halftrip.results.counts import HostCounters
from halftrip.results.device import DeviceCopy
from halftrip.results.records import Aggregate, ClockComparison, CopyTime, Failure, LostHost, Notice
from halftrip.results.run_file import encode, load
from harness import runs

FORMATS = Path(__file__).parents[2] / "golden" / "formats"
HEADER = runs.run().header
RANKS = (runs.environment(0), runs.environment(1))
DEEP = b"[" * 1000 + b"]" * 1000
COUNTERS = HostCounters(
    host="node1", rank=0, phase="during", at=0.0, seconds=1.0, cpus={}, memory_used=None, counts={},
    interfaces={}, interrupts={}, softnet={},
)  # fmt: skip
AGGREGATE = Aggregate(
    configuration=runs.configuration(), slice=0, pairs=[(0, 1)], spans=[5], messages=[2.0]
)
COPY = DeviceCopy(
    rank=0, memory="cuda@0", direction="host to device", host="pinned", size=4096, ns=812.5
)
COMPARISON = ClockComparison(rank=1, ranks=[1, 2], at=5, ahead=-7, round_trip=3)


def a_measurement(**changes):
    return runs.measurement(iterations=1, samples=[1, 2, 3], **changes)


def write(path, *records):
    """A file with these lines after a header and the environments of two ranks."""
    lines = [each if isinstance(each, bytes) else encode(each) for each in (*RANKS, *records)]
    path.write_bytes(encode(HEADER) + b"".join(lines))
    return path


def changed(record, *changes):
    """The line of a record with texts replaced in it."""
    line = encode(record)
    for old, new in changes:
        assert old in line
        line = line.replace(old, new)
    return line


WRONG = {
    "invalid UTF-8": (changed(Notice(rank=0, host="a", text="b"), (b'"b"', b'"\xff"')), "utf-8"),
    "nested where nobody looks": (b'{"record":"end","x":' + DEEP + b"}\n", "nested too deep"),
    "window": (changed(a_measurement(), (b'"window":1', b'"window":0')), "window"),
    "size": (changed(a_measurement(), (b'"size":8', b'"size":-8')), "size"),
    "times": (changed(a_measurement(), (b"[1,2,3]", b"[1,-2,3]")), "expected times"),
    "many times": (changed(a_measurement(), (b"[1,2,3]", b"[%d,%d]" % ((9 * 10**16,) * 2))), "tim"),
    "iterations": (changed(a_measurement(), (b'"iterations":1,', b'"iterations":0,')), "iteration"),
    "messages": (
        changed(
            a_measurement(),
            (b'"iterations":1,', b'"iterations":%d,' % 10**15),
            (b'"window":1', b'"window":1000000'),
        ),
        "messages",
    ),
    "at": (changed(a_measurement(), (b'"at":0.5', b'"at":1e308')), "at"),
    "exponent": (changed(a_measurement(), (b'"at":0.5', b'"at":1e999')), "out of range"),
    "rank": (a_measurement(pair=(0, 7)), "rank 7 is none of this run"),
    "negative rank": (changed(a_measurement(), (b'"pair":[0,1]', b'"pair":[-1,1]')), "pair"),
    "rank of a failure": (
        Failure(configuration=runs.configuration(pair=(0, 9)), slice=0, reason="x"),
        "rank 9 is none",
    ),
    "no pairs": (msgspec.structs.replace(AGGREGATE, pairs=[]), "no pairs"),
    "spans": (msgspec.structs.replace(AGGREGATE, spans=[1, 2]), "not as many"),
    "arrivals": (
        a_measurement(end=9, peer_start=5, arrivals=runs.times(1, 2)),
        "arrivals are not as many",
    ),
    "arrivals from no moment": (
        a_measurement(end=9, arrivals=runs.times(1, 2, 3)),
        "without the moments",
    ),
    "early arrivals": (
        changed(
            a_measurement(end=9, peer_start=5, arrivals=runs.times(4, 5, 6)),
            (b"[4,5,6]", b"[4,-5,6]"),
        ),
        "expected times",
    ),
    "rank of a clock": (COMPARISON, "rank 2 is none"),
    "clock of rank 0": (msgspec.structs.replace(COMPARISON, ranks=[0, 1]), "not rank 0's"),
    "round trip": (msgspec.structs.replace(COMPARISON, ranks=[1], round_trip=-1), "round_trip"),
    "copy": (CopyTime(rank=0, size=8, ns=0.0), "ns"),
    "seconds": (msgspec.structs.replace(COUNTERS, seconds=0.0), "seconds"),
    "long notice": (Notice(rank=0, host="a", text="b" * 200_000), "length"),
    "index of a device": (changed(runs.device(), (b'"index":0', b'"index":-1')), "index"),
    "power of a device": (changed(runs.device(), (b":700.0", b":-1.0")), "power_limit"),
    "rank of a device": (runs.device(7), "rank 7 is none"),
    "time of a device's copy": (changed(COPY, (b":812.5", b":0.0")), "ns"),
    "direction of a device's copy": (changed(COPY, (b"host to", b"here to")), "direction"),
    "second header": (HEADER, "begins once"),
    "empty": (b"\n", ""),
    "another value": (b"[1, 2]\n", "object"),
    "another record": (b'{"record":"poem"}\n', "poem"),
}


@pytest.mark.parametrize(("line", "why"), WRONG.values(), ids=WRONG)
def test_what_makes_no_sense_is_left_out_and_the_rest_loads_and_is_shown(
    tmp_path, line, why, capsys
):
    path = write(tmp_path / "run.jsonl", a_measurement(), line, a_measurement(slice=1))
    run = load(path)
    (problem,) = run.problems
    assert problem.startswith(f"{path}: line 5 was left out: ")
    assert why in problem.lower()
    assert problem.isprintable()
    assert len(problem) < len(str(path)) + 250
    assert run.measurements == (a_measurement(), a_measurement(slice=1))
    show_runs([str(path)], ShowRequest())
    printed = capsys.readouterr()
    assert f"{path}: line 5" in printed.err
    assert "1 row" in printed.out


def test_measurements_without_samples_are_loaded(tmp_path, capsys):
    lines = (FORMATS / "1.jsonl").read_bytes()
    path = tmp_path / "run.jsonl"
    path.write_bytes(re.sub(rb'"samples":\[[^]]*\]', b'"samples":[]', lines))
    assert len(load(path).measurements) == 12
    for views in ([], ["details"], ["flags"], ["tails"], ["cost"]):
        show_runs([str(path)], ShowRequest(views=views))


def test_ranks_may_be_missing_where_their_line_is_lost(tmp_path):
    path = write(tmp_path / "run.jsonl", b"lost\n", a_measurement(pair=(0, 7)))
    run = load(path)
    assert len(run.problems) == len(run.measurements) == 1
    # Without any environment, there is none to miss.
    path.write_bytes(encode(HEADER) + encode(a_measurement()))
    assert load(path).problems == ()


def header(**changes):
    return msgspec.json.encode(msgspec.to_builtins(HEADER) | changes) + b"\n"


@pytest.mark.parametrize(("line", "why"), [
    (b'{"record":"run","version":1}\n', "missing required field"),
    (b'{"record":"run","version":-1,"format":4}\n', "not a run file"),
    (b'{"record":"run","version":' + b"9" * 4000 + b"}\n", "newer than"),
    (b'{"record":"run","version":' + b"9" * 5000 + b"}\n", "not a run file"),
    (b'{"record":"run","version":1,"plan":' + DEEP + b"}\n", "not a run file"),
    (DEEP, "not a run file"),
    (header(plan={"sizes": [[[[[[[[1]]]]]]]]}), "nested too deep"),
    (header(plan={"slices": "many"}), "slices"),
    (header(plan={"placement_state": "\x1b[2J"}), "placement_state"),
    (header(started="\x1b[2J"), "no date"),
    (header(started="0001-01-01"), "year 1"),
    (b"\0" * (17 << 20), "not a run file"),
])  # fmt: skip
def test_what_is_no_run_file_is_an_error_in_one_line(tmp_path, line, why):
    path = tmp_path / "run.jsonl"
    path.write_bytes(line)
    with pytest.raises(UsageError, match=why) as raised:
        load(path)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < len(str(path)) + 250


@pytest.mark.parametrize("name", ["a\0b", "a\x1bb", "a\udc80b", "/dev/zero"])
def test_a_name_of_no_file_is_an_error_in_one_line(name):
    with pytest.raises(UsageError) as raised:
        load(name)
    assert str(raised.value).isprintable()


def test_a_line_that_is_longer_than_any_record_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST_LINE", 4000)
    long = b'{"record":"notice","text":"' + b"x" * (8 << 20) + b'"}\n'
    path = write(tmp_path / "run.jsonl", long, a_measurement(), long[:-1])
    tracemalloc.start()
    try:
        run = load(path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(run.measurements) == 1
    assert [line.partition(": line ")[2] for line in run.problems] == [
        "4 was left out: it has more than 4,000 bytes",
        "6 was left out: it has more than 4,000 bytes",
    ]
    assert most < 4 << 20


def test_of_many_problems_the_first_are_named_and_the_others_counted(tmp_path):
    path = write(tmp_path / "run.jsonl", *[b"x\n"] * 1000, a_measurement(pair=(3, 4)))
    run = load(path)
    assert run.problems[0].startswith(f"{path}: line 4 was left out")
    assert run.problems[-1] == f"{path}: 900 more lines were left out"
    assert len(run.problems) == 101


def test_a_long_notice_takes_no_longer_than_its_bytes(tmp_path):
    """Reading 50 MB takes a second or so; it took 20 to print them."""
    path = write(tmp_path / "run.jsonl", Notice(rank=0, host="a", text="b " * (25 << 20)))
    began = time.process_time()
    show_runs([str(path)], ShowRequest())
    spent = time.process_time() - began
    began = time.process_time()
    msgspec.json.decode(path.read_bytes().splitlines()[-1])
    assert spent < 50 * (time.process_time() - began) + 1


@pytest.mark.parametrize("shown", [
    ShowRequest(), ShowRequest(views=["details", "why", "flags", "system-log"]),
    ShowRequest(format="csv"), ShowRequest(format="json"),
    ShowRequest(format="markdown"), ShowRequest(format="latex"),
    ShowRequest(format="nodes", expect="latency=1us"),
], ids=lambda shown: " ".join([shown.format, *shown.views]))  # fmt: skip
def test_texts_of_a_file_do_nothing_on_a_terminal(tmp_path, capsys, shown):
    text = "\x1b[31mred\x9b31m\u202edera\x07b\rb"
    made = runs.run(
        a_measurement(transport=text),
        environments=(runs.environment(0, host=text), runs.environment(1, mpi=text)),
        failures=(Failure(configuration=runs.configuration(text), slice=0, reason=text),),
        notices=(Notice(rank=0, host=text, text=text),),
        lost=(LostHost(host=text, ranks=[2], reason=text),),
        host_counters=(msgspec.structs.replace(COUNTERS, host=text, cpus={text: {text: 1.0}}),),
    )
    path = runs.save(made, tmp_path / "run.jsonl")
    for files in ([str(path)], [str(path)] * 2):
        if len(files) == 1 or not (shown.views or shown.judges):
            show_runs(files, shown)
    printed = capsys.readouterr()
    for each in (printed.out, printed.err):
        assert each.replace("\n", "").isprintable()
    assert load(path).notices[0].text == text
