"""Simulated paths, whose truth is known: measured, fitted, and judged by an earlier run."""

import json

import pytest

from halftrip.analysis.summaries import summarize_configuration

MODEL = ("-t", "simulated", "-s", "8,64K", "--time", "50ms", "--launches", "5")
BENT = """
transport = "simulated"
sizes = "1..4M"
[simulated]
latency = "2us"
bandwidth = "10GB"
segments = [{ from = "64K", latency = "8us", bandwidth = "20GB" }]
noise = { kind = "ar1", spread = 0.02, correlation = 0.6 }
"""


def test_a_simulated_path_needs_no_table_and_no_machine(shell):
    """It costs nothing, and there is no host whose counters could be logged."""
    result = shell.measure("-t", "simulated", "-s", "8,1M", "--system-log")
    assert "virtual time" in result.out.splitlines()[0]
    assert "bound:" not in result.out
    run = result.run
    for configuration, measurements in run.by_configuration.items():
        expected = 1e3 + configuration.size / 10
        assert summarize_configuration(measurements).latency == pytest.approx(expected, rel=0.02)
    assert run.host_counters == ()
    assert {m.usage for m in run.measurements} == {None}
    assert result.show("--cost").out.startswith("no cost: ")
    shown = result.show("--system-log").out
    assert shown == "no system log: what is simulated is on no host\n"


def test_a_planted_bend_is_found_with_its_lines(shell):
    (shell.directory / "plan.toml").write_text(BENT)
    shell.measure("plan.toml", "--refine")
    fitted = shell.call("fit", "run.jsonl", "--format", "json")
    assert fitted.status == 0
    (curve,) = json.loads(fitted.out)["curves"]
    (bend,) = curve["bends"]
    assert bend["low_size_bytes"] < 65536 <= bend["high_size_bytes"]
    assert bend["kind"] == "jump"
    assert bend["high_size_bytes"] - bend["low_size_bytes"] <= 0.02 * 65536
    for piece, start, per_byte in zip(curve["pieces"], (2e3, 8e3), (0.1, 0.05), strict=True):
        assert piece["start_ns"] == pytest.approx(start, rel=0.02)
        assert piece["per_byte_ns"] == pytest.approx(per_byte, rel=0.02)
    assert all(line["unfit"] for line in curve["hockney"])


@pytest.mark.extended
def test_a_run_is_judged_by_an_earlier_one_and_compared_with_it(shell):
    (shell.directory / "path.toml").write_text('[simulated]\nlatency = "2us"\n')
    (shell.directory / "slow.toml").write_text('[simulated]\nlatency = "3us"\n')
    assert shell.run("path.toml", *MODEL).status == 0
    base = shell.path.rename(shell.directory / "base.jsonl")
    result = shell.measure("path.toml", *MODEL, "--baseline", base.name)
    assert "as expected: 2 rows against base.jsonl, within 10 %" in result.out
    assert shell.call("compare", base.name, "run.jsonl", "--threshold", "10%").status == 0
    result.path.unlink()
    result = shell.run("slow.toml", *MODEL, "--baseline", base.name, "--tolerance", "20%")
    assert result.status == 1
    assert "falls short: rank 0 to rank 1: simulated pingpong 8 B latency 3.0" in result.out
    assert result.run.header.plan["baseline"] == base.name
    assert shell.call("compare", base.name, "run.jsonl", "--threshold", "10%").status == 1
