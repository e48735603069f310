"""sockperf: summaries, throughput and the full log (a sample that was shortened to 50 rows)."""

import pytest

from halftrip.errors import UsageError
from harness.files import ROOT
from harness.imports import imported_run

SAMPLES = ROOT / "tests" / "golden" / "imports" / "sockperf"


def sample(name):
    return (SAMPLES / f"{name}.txt").read_text()


def test_the_summary_of_a_ping_pong():
    (found,) = imported_run(sample("ping-pong")).measurements
    assert found.configuration.transport == "udp"
    assert (found.configuration.size, found.iterations) == (0, 40925)
    assert found.samples[0] == 6710 * 2 * 40925
    spread = {"min": 5568, "p50": 5918, "p90": 7561, "p99": 9063, "p99.9": 36143}
    spread |= {"max": 2522402, "stddev": 23015}
    assert found.reported.spread == pytest.approx(spread)
    assert found.reported.step == pytest.approx(1.0)


def test_under_load():
    (found,) = imported_run(sample("under-load")).measurements
    assert found.iterations == 10
    assert found.samples[0] == 226662 * 2 * 10


def test_throughput():
    (found,) = imported_run(sample("throughput")).measurements
    assert (found.configuration.pattern, found.configuration.size) == ("stream", 1000)
    assert found.reported.bandwidth == pytest.approx(150.608 * 2**20)
    assert found.reported.rate == 157924


def test_the_size_that_a_note_says():
    # Bandwidth and rate of few messages are of many sizes, of which 1024 is the likeliest.
    text = sample("throughput").replace("157924", "10").replace("150.608", "0.010")
    text = text.replace("1204.865", "0.076")
    (found,) = imported_run(text).measurements
    assert found.configuration.size == 1000
    with pytest.raises(UsageError, match="are not of 1001 bytes"):
        imported_run(sample("throughput").replace("msg-size=1000", "msg-size=1001"))


def test_the_size_of_a_latency_is_not_said():
    run = imported_run(sample("ping-pong"))
    assert run.measurements[0].configuration.known_size is None
    # The advice of a note is no size.
    note = next(line for line in sample("throughput").splitlines(True) if "NOTE" in line)
    noted = imported_run(note + sample("ping-pong"))
    assert noted.measurements[0].configuration.known_size is None


def test_the_log_has_single_exchanges():
    (found,) = imported_run(sample("full-log")).measurements
    assert found.configuration.size == 64
    assert found.configuration.transport == "unknown"
    assert found.samples.size == 50
    # As its times of sending and receiving say: 2.414831122 and 2.414844262.
    assert found.samples[0] == 13140


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("ping-pong", "sockperf: Summary: Latency is 6.710", "sockperf: ERROR: gone", "failed"),
        ("ping-pong", "is 6.710 usec", "is 6.711 usec", "an average of"),
        ("ping-pong", "<MIN>", "percentile", "before the line with <MIN>"),
        ("ping-pong", "Total 40925", "Total 0", "0 observations"),
        ("ping-pong", "is 6.710 usec", "is  usec", "changed, or cut off"),
        ("ping-pong", "avg-latency=6.710 ", "avg-latency= ", "changed, or cut off"),
        (
            "ping-pong",
            "Total 40925 observations",
            "Total 40925 observations,",
            "changed, or cut off",
        ),
        ("ping-pong", "90.000 =    7.561", "90.000 =", "changed, or cut off"),
        ("throughput", "is 157924", "is 0", "nothing was sent"),
        ("throughput", "(1204.865 Mbps)", "(1204,865 Mbps)", "comma"),
        ("throughput", "(1204.865 Mbps)", "(1205.865 Mbps)", "150.608 MBps are not"),
        ("throughput", "BandWidth is 150.608", "BandWidth is", "changed, or cut off"),
        ("full-log", "\n1, 2.4", "\n0, 2.4", "out of order"),
        ("full-log", "Total 50 ", "Total 51 ", "after 50 of 51"),
        ("full-log", ", 6.570", ", 6,570", "5 figures"),
    ],
)
def test_what_is_no_result(name, old, new, said):
    text = sample(name)
    assert old in text
    with pytest.raises(UsageError, match=said):
        imported_run(text.replace(old, new))


def test_an_interrupted_run_and_a_log_that_is_cut_off():
    with pytest.raises(UsageError, match="interrupted"):
        imported_run("sockperf: Starting test...\n")
    with pytest.raises(UsageError, match="cut off"):
        imported_run(sample("full-log")[:-1])
