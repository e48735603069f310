"""qperf: several tests in one text, and several sizes of one test."""

import pytest

from halftrip.errors import UsageError
from harness.files import ROOT
from harness.imports import imported_run

SAMPLES = ROOT / "tests" / "golden" / "imports" / "qperf"


def sample(name):
    return (SAMPLES / f"{name}.txt").read_text()


def test_a_latency_and_a_bandwidth():
    latency, bandwidth = imported_run(sample("latency-bandwidth")).measurements
    assert (latency.configuration.transport, latency.configuration.size) == ("tcp", 64)
    # A round trip has two messages.
    assert latency.samples[0] == 2 * 10200
    assert latency.reported.step == pytest.approx(100)
    assert bandwidth.configuration.pattern == "stream"
    assert bandwidth.reported.bandwidth == pytest.approx(27.8e6)
    assert bandwidth.samples[0] == round(1e9 * 64 / 27.8e6)


def test_sizes():
    found = imported_run(sample("sizes")).measurements
    times = {each.configuration.size: int(each.samples[0]) for each in found}
    assert times == {1: 2 * 10300, 32: 2 * 16400, 1024: 2 * 10400}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("10.2 us", "10,2 us", "comma"),
        ("10.2 us", "10.2 weeks", "in none of"),
        ("10.2 us", "0 us", "latency of 0"),
        ("bw        =  27.8", "bx        =  27.8", "no recv_bw or bw"),
        ("msg_size  =    64 bytes", "msg_sizo  =    64 bytes", "without msg_size"),
        ("tcp_bw:", "tcp_lat:", "a second time"),
        ("tcp_bw:", "failed to connect", "failed"),
    ],
)
def test_what_is_no_result(old, new, said):
    text = sample("latency-bandwidth")
    if new == "tcp_lat:":
        text = text.replace("    bw ", "    latency ").replace("27.8 MB/sec", "27.8 us")
    assert old in text
    with pytest.raises(UsageError, match=said):
        imported_run(text.replace(old, new))


def test_sizes_that_do_not_ascend():
    with pytest.raises(UsageError, match="size 1024 comes behind 2048"):
        imported_run(sample("sizes").replace("32 bytes", "2048 bytes"))
