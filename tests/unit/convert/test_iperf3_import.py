"""iperf3 --json: what each figure becomes, and what is no result."""

import json

import pytest

from halftrip.errors import UsageError
from harness.files import ROOT
from harness.imports import imported_run

SAMPLES = ROOT / "tests" / "golden" / "imports" / "iperf3"


def sample(name):
    return (SAMPLES / f"{name}.json").read_text()


def rows(run, over):
    return [each for each in run.measurements if dict(each.configuration.variant)["over"] == over]


def test_two_streams():
    text = sample("two-streams")
    found = json.loads(text)
    run = imported_run(text)
    (whole,) = rows(run, "whole test")
    assert whole.configuration.size == 65536
    assert whole.configuration.transport == "tcp"
    assert whole.configuration.pattern == "stream"
    assert dict(whole.configuration.variant)["streams"] == "2"
    received = found["end"]["sum_received"]["bits_per_second"]
    assert whole.reported.bandwidth == pytest.approx(received / 8)
    assert float(whole.reported.figures["end.sum_received.bits_per_second"]) == received
    intervals = rows(run, "intervals")
    assert [each.slice for each in intervals] == [0, 1]
    sums = [each["sum"]["bits_per_second"] / 8 for each in found["intervals"]]
    assert [each.reported.bandwidth for each in intervals] == pytest.approx(sums)


def test_both_directions():
    text = sample("bidir")
    end = json.loads(text)["end"]
    (whole,) = rows(imported_run(text), "whole test")
    ways = ("sum_received", "sum_received_bidir_reverse")
    assert whole.configuration.pattern == "bidirectional"
    total = sum(end[way]["bits_per_second"] for way in ways) / 8
    assert 2 * whole.reported.bandwidth == pytest.approx(total)


def test_reverse_and_udp():
    (reverse,) = imported_run(sample("reverse")).measurements
    assert dict(reverse.configuration.variant)["direction"] == "to client"
    (udp,) = imported_run(sample("udp")).measurements
    assert (udp.configuration.transport, udp.configuration.size) == ("udp", 32768)
    assert udp.configuration.buffers == udp.configuration.cache == "unknown"


def test_where_and_when():
    run = imported_run(sample("udp"))
    (source,) = run.sources
    assert source.hosts == ["10.0.0.2", "10.0.0.2"]
    assert source.version == "3.12"
    assert source.date == "2026-11-24T15:17:16+00:00"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"end":\t{', '"error": "interrupt - the client has terminated", "end":\t{', "interrupt"),
        ('"bits_per_second":\t', '"bits_per_second":\t-', "negative"),
        ('"blksize":\t32768', '"blksize":\t0', "blocks of 0"),
        ('"protocol":\t"UDP"', '"protocol":\t"SCTP"', "sctp"),
        ('"timesecs":\t1795533436', '"timesecs":\t1', "in the year 1970"),
        ('"timesecs":\t1', '"timesecs":\t999', "no date"),
    ],
)
def test_what_is_no_result(old, new, said):
    text = sample("udp")
    assert old in text
    with pytest.raises(UsageError, match=said):
        imported_run(text.replace(old, new))


def test_cut_off_and_zero_bits():
    text = sample("udp")
    with pytest.raises(UsageError, match="no JSON"):
        imported_run(text[: len(text) // 2])
    found = json.loads(text)
    found["end"]["sum_received"]["bits_per_second"] = 0
    with pytest.raises(UsageError, match="nothing was received"):
        imported_run(json.dumps(found) + "\n")


def test_a_bandwidth_that_is_almost_none():
    text = sample("udp")
    bits = str(json.loads(text)["end"]["sum_received"]["bits_per_second"])
    # An eighth of it is 0.
    with pytest.raises(UsageError, match=r"bits_per_second: '5e-324' is too small"):
        imported_run(text.replace(bits, "5e-324"))


@pytest.mark.parametrize("bits", [-1.5, 1e300])
@pytest.mark.parametrize("where", ["sender", "receiver", "interval"])
def test_a_bandwidth_of_a_stream_that_is_none(where, bits):
    found = json.loads(sample("reverse"))
    if where == "interval":
        stream = found["intervals"][0]["streams"][0]
    else:
        stream = found["end"]["streams"][0][where]
    stream["bits_per_second"] = bits
    with pytest.raises(UsageError, match=r"streams\[0\]\S*bits_per_second: .* is (negative|too)"):
        imported_run(json.dumps(found))
