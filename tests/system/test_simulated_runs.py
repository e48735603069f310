"""``halftrip run -t simulated`` and presets, as a person calls them."""

import pytest

from halftrip.analysis.summaries import summarize_configuration
from halftrip.registry import DEFAULT_TRANSPORTS
from harness.mpi import ONE_HOST


def test_a_simulated_path_needs_no_table_and_no_machine(shell):
    """It costs nothing, and there is no host whose counters could be logged."""
    result = shell.run("-t", "simulated", "-s", "8,1M", "--system-log")
    assert result.status == 0, result.err
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


def test_a_table_says_what_is_measured(shell):
    (shell.directory / "plan.toml").write_text('sizes = "0"\n[simulated]\nlatency = "7us"\n')
    result = shell.run("plan.toml", "--pattern", "pingpong,stream")
    assert result.status == 0, result.err
    run = result.run
    assert {configuration.transport for configuration in run.by_configuration} == {"simulated"}
    (turns,) = (
        found
        for configuration, found in run.by_configuration.items()
        if configuration.pattern == "pingpong"
    )
    assert summarize_configuration(turns).latency == pytest.approx(7e3, rel=0.02)


def test_the_quick_preset_measures_every_transport(shell):
    result = shell.run("--preset", "quick", "-s", "8", **ONE_HOST)
    assert result.status == 0, result.err
    run = result.run
    assert {m.configuration.transport for m in run.measurements} == set(DEFAULT_TRANSPORTS)
    assert run.header.plan["preset"] == "quick"
