"""Simulated paths, whose truth is known: measured, fitted, and judged by an earlier run."""

import pytest

from halftrip.analysis.summaries import summarize_configuration

MODEL = ("-t", "simulated", "-s", "8,64K", "--time", "50ms", "--launches", "5")


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
