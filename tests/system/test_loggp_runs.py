"""LogGP of real ranks, and of a path that has it planted, as a person calls the command."""

import pytest

from halftrip.analysis.loggp import loggp_fits

PLANTED = """
sizes = "1,64,1K,16K"
ci = "none"
time = "10ms"

[simulated]
latency = "4us"
bandwidth = "5GB"
send-overhead = "600ns"
receive-overhead = "900ns"
gap = "1us"

[[part]]
delay = "0,50us"

[[part]]
pattern = "stream"
window = "1,16"
delay = "0,50us"
"""


def test_a_planted_path_has_what_was_planted_and_is_exported_so(shell):
    """LogGOPSim has one overhead for both ends."""
    (shell.directory / "plan.toml").write_text(PLANTED)
    result = shell.measure("plan.toml")
    (fit,) = loggp_fits(result.run)
    for figure, truth in (
        (fit.latency, 2500),
        (fit.smallest.send, 600),
        (fit.smallest.receive, 900),
        (fit.gap, 1000),
        (fit.per_byte, 0.2),
    ):
        assert figure.estimate.value == pytest.approx(truth, rel=0.05)
        assert figure.estimate.low <= figure.estimate.value <= figure.estimate.high
    done = shell.call("export", "run.jsonl", "--to", "loggopsim")
    assert (done.status, done.err) == (0, "")
    text = (shell.directory / "run-loggopsim.txt").read_text()
    options = dict(line.split() for line in text.splitlines() if not line.startswith("#"))
    assert "# One unit of time is 1 ps," in text
    for letter, truth in (("L", 2500), ("o", 750), ("g", 1000), ("G", 0.2)):
        assert int(options[f"-{letter}"]) / 1000 == pytest.approx(truth, rel=0.05), letter


def test_rows_with_and_without_a_delay_are_told_apart(shell):
    result = shell.measure("-t", "shm", "-s", "8", "--delay", "0,50us", "--iterations", "200")
    rows = {int(row["delay_ns"]): float(row["latency_ns"]) for row in result.rows()}
    assert rows[50_000] >= 25_000
    assert rows.keys() == {0, 50_000}
    shown = result.show("--details").out
    assert "0 us" in shown
    assert "50 us" in shown
    assert "delay: the initiator computes so long after each send" in shown
