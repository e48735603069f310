"""The table of a simulated path: what it may hold, and what is said of what it may not."""

import math

import msgspec
import pytest

from halftrip.errors import UsageError
from halftrip.plan.path_model_table import parse_truth, truth_record
from halftrip.plan.plan import file_layer, make_plan, plan_record, python_layer
from halftrip.simulation.path_model import Noise, Segment, Truth
from halftrip.simulation.virtual_time import Path


def test_a_table_may_be_written_as_a_person_would():
    truth = parse_truth(
        {
            "latency": "2us",
            "bandwidth": "10GB",
            "segments": [{"from": "64K", "latency": "4us"}],
            "noise": {"kind": "ar1", "spread": "5%", "correlation": 0.6},
            "warm-up": 3,
        }
    )
    assert truth == Truth(
        latency=2e-6,
        bandwidth=10e9,
        segments=(Segment(start=65536, latency=4e-6),),
        noise=Noise(kind="ar1", spread=0.05, correlation=0.6),
        warm_up=3,
    )
    assert parse_truth(truth_record(truth)) == truth


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[simulated]\nlatncy = "2us"', "simulated: latncy: no such key; did you mean latency?"),
        ("[simulated.noise]\nx = 1", "simulated: noise.x: no such key; allowed: kind, spread,"),
        ('[simulated]\nlatency = "2 parsec"', "simulated: latency: '2 parsec' is not a time"),
        ('[simulated]\nbandwidth = "4Q"', "simulated: bandwidth: '4Q' is not a size"),
        ("[simulated]\nlatency = -1.0", "simulated: latency: -1.0 is out of range; more than 0"),
        ("[simulated]\nlatency = nan", "simulated: latency: nan is out of range"),
        ('[simulated]\nloss = "101%"', "simulated: loss: 1.01 is out of range; from 0 to less"),
        ("[simulated]\nseed = 1.5", "simulated: seed: expected int, got float"),
        ("[simulated.modes]\nshare = 0.4\ndwell = 0", "simulated: modes.dwell: 0 is out of range"),
        ('[simulated.noise]\nkind = "pink"', "simulated: noise.kind: 'pink' is not known; allowed"),
        ("simulated = [1, 2]", "simulated: [1, 2] is not a table"),
        ('simulated = "fast"', "simulated: 'fast' is not a table"),
        ('[simulated]\nnoise = "loud"', "simulated: noise: 'loud' is not a table"),
        ("[simulated]\nsegments = {}", "simulated: segments: {} is not a list of tables"),
        ("[simulated]\nsegments = [3]", "simulated: segments[0]: 3 is not a table"),
        ("[simulated]\nsegments = [{from = -3}]", "simulated: segments[0].from: -3 is out of"),
        ("[simulated]\nsegments = [{latency = 1.0}]", "simulated: segments[0]: object missing"),
    ],
)
def test_what_is_wrong_is_one_line_with_file_and_key(tmp_path, content, said):
    path = tmp_path / "plan.toml"
    path.write_text(content)
    with pytest.raises(UsageError) as caught:
        make_plan(file_layer(path))
    assert str(caught.value).startswith(f"{path}: {said}")
    assert "\n" not in str(caught.value)


def test_time_that_passes_without_an_exchange_changes_the_state_too():
    table = {"modes": {"factor": 3.0, "share": 0.5, "dwell": "10ms", "moves_line": True}}
    path = Path(parse_truth(table))
    seen = set()
    for _ in range(1000):
        path.rest(1e-3)
        seen.add(path.line() > 200e-9)
    assert seen == {False, True}


@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.99])
def test_correlated_noise_is_what_its_definition_says(correlation):
    """In whatever pieces it is asked for: x[i] = correlation * x[i - 1] + what is new."""
    table = {"noise": {"kind": "ar1", "spread": 0.1, "correlation": correlation}}
    path = Path(parse_truth(table))
    twin = Path(parse_truth(table))
    expected = twin._correlated
    for count in (1, 2, 1000, 7):
        series = path._correlate(path._random.normal(size=count), correlation)
        for value, normal in zip(series, twin._random.normal(size=count), strict=True):
            expected = correlation * expected + math.sqrt(1.0 - correlation**2) * normal
            assert value == pytest.approx(expected, abs=1e-12)


# Presets.


def made(*layers):
    return make_plan(*(python_layer(keys) for keys in layers))


def test_the_preset_for_a_paper():
    record = plan_record(made({"preset": "paper"}))
    assert record["launches"] == 10
    assert record["repetitions"] == 3
    assert record["ci"] == 0.01
    assert record["cache"] == ["hot", "cold"]


def test_whatever_else_is_said_wins_over_a_preset():
    plan = made({"ci": "3%", "preset": "paper"}, {"launches": 2})
    assert (plan.ci, plan.launches, plan.repetitions) == (0.03, 2, 3)
    # Also where the preset comes last.
    plan = made({"launches": 2, "iterations": 7}, {"preset": "paper"})
    assert (plan.launches, plan.iterations, plan.repetitions) == (2, 7, 3)
    # And of two presets, the last.
    plan = made({"preset": "paper"}, {"preset": "quick"})
    assert (plan.launches, plan.ci) == (1, 0.05)
    assert msgspec.structs.replace(made({"preset": "standard"}), preset=None) == made({})


def test_an_unknown_preset_is_one_line():
    said = "^preset: 'fast' is not known; allowed: quick, standard, paper$"
    with pytest.raises(UsageError, match=said):
        made({"preset": "fast"})


def test_until_ci_needs_an_interval():
    with pytest.raises(UsageError, match=r"^until_ci: there is no interval to wait for; give --ci"):
        made({"until_ci": True, "ci": "none"})
