"""``halftrip run -t simulated`` and presets, as a person calls them."""

import pytest

from halftrip.analysis.summaries import summarize_case
from halftrip.registry import DEFAULT_TRANSPORTS


def test_a_simulated_path_needs_no_table_and_no_machine(shell):
    result = shell.run("-t", "simulated", "-s", "8,1M")
    assert result.status == 0, result.err
    assert result.out.startswith("pattern pingpong, mode blocking, ranks 0-1; simulated: virtual ")
    assert "bound:" not in result.out
    for case, measurements in result.run.by_case.items():
        truth = 1e3 + case.size / 10
        assert summarize_case(measurements).latency == pytest.approx(truth, rel=0.02)


def test_a_table_says_what_is_measured(shell):
    (shell.directory / "plan.toml").write_text('sizes = "0"\n[simulated]\nlatency = "7us"\n')
    result = shell.run("plan.toml", "--pattern", "pingpong,stream")
    assert result.status == 0, result.err
    assert {case.transport for case in result.run.by_case} == {"simulated"}
    (turns,) = (those for case, those in result.run.by_case.items() if case.pattern == "pingpong")
    assert summarize_case(turns).latency == pytest.approx(7e3, rel=0.02)


def test_a_wrong_table_is_one_line(shell):
    (shell.directory / "plan.toml").write_text('[simulated]\nlatncy = "7us"\n')
    result = shell.run("plan.toml")
    said = "halftrip: plan.toml: simulated: latncy: no such key; did you mean latency?\n"
    assert (result.status, result.out, result.err) == (2, "", said)
    assert not result.path.exists()


def test_the_quick_preset_measures_every_transport(shell):
    result = shell.run("--preset", "quick", timeout=60)
    assert result.status == 0, result.err
    measured = {m.case.transport for m in result.run.measurements}
    assert measured == set(DEFAULT_TRANSPORTS)
    assert result.run.end.timed < 30
