"""``halftrip fit`` of runs as a person makes them: a simulated path whose bend is known, and a real
one."""

import json

import pytest

from harness.shell import call

PLAN = """
transport = "simulated"
sizes = "1..4M"
[simulated]
latency = "2us"
bandwidth = "10GB"
segments = [{ from = "64K", latency = "8us", bandwidth = "20GB" }]
noise = { kind = "ar1", spread = 0.02, correlation = 0.6 }
"""


@pytest.mark.parametrize("refine", [[], ["--refine"]])
def test_a_planted_bend_is_found_with_its_lines(shell, refine):
    (shell.directory / "plan.toml").write_text(PLAN)
    result = shell.run("plan.toml", *refine)
    assert result.status == 0, result.err
    fitted = call(shell.directory, "fit", "run.jsonl", "--format", "json")
    assert fitted.status == 0
    (curve,) = json.loads(fitted.out)["curves"]
    (bend,) = curve["bends"]
    assert bend["low_size_bytes"] < 65536 <= bend["high_size_bytes"]
    assert bend["kind"] == "jump"
    if refine:
        assert bend["high_size_bytes"] - bend["low_size_bytes"] <= 0.02 * 65536
    for piece, start, per_byte in zip(curve["pieces"], (2e3, 8e3), (0.1, 0.05), strict=True):
        assert piece["start_ns"] == pytest.approx(start, rel=0.02)
        assert piece["per_byte_ns"] == pytest.approx(per_byte, rel=0.02)
    assert all(line["unfit"] for line in curve["hockney"])


def test_every_figure_of_a_real_run_has_an_interval(shell):
    result = shell.run("-t", "shm,pipe", "-s", "8..1M", "--time", "20ms")
    assert result.status == 0, result.err
    curves = json.loads(call(shell.directory, "fit", "run.jsonl", "-j").out)["curves"]
    assert {curve["transport"] for curve in curves} == {"shm", "pipe"}
    for curve in curves:
        assert curve["reason"] is None
        assert curve["over"] == "slices"
        for line in curve["hockney"][:2]:
            assert line["start_low_ns"] <= line["start_ns"] <= line["start_high_ns"]
        assert curve["pieces"][0]["first_size_bytes"] >= 8
    said = call(shell.directory, "fit", "run.jsonl")
    assert said.status == 0
    assert "in brackets: 95 % interval, by bootstrap over the slices of one launch; " in said.out
