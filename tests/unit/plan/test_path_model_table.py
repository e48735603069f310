"""The table [simulated] of a plan: what it may hold, its errors, and its record."""

import pytest

from halftrip.plan.layers import make_plan, plan_layer, python_layer
from halftrip.plan.path_model_table import parse_path_model, path_model_record
from halftrip.plan.plan import plan_record
from halftrip.simulation.path_model import (
    ClockModel,
    Modes,
    Noise,
    PathModel,
    Ramp,
    Segment,
    Spikes,
    Wander,
)
from harness.plans import mistake_in_file


def test_values_with_units_and_dashes_in_names():
    model = parse_path_model(
        {
            "latency": "2us",
            "bandwidth": "10GB",
            "segments": [{"from": "64K", "latency": "4us"}],
            "noise": {"kind": "ar1", "spread": "5%", "correlation": 0.6},
            "warm-up": 3,
            "wander": {"spread": "2%", "time-constant": "20ms", "moves-core-to-core": True},
            "ramp": {"slower": "30%", "time_constant": "50ms"},
            "send-overhead": "0.25us",
            "receive_overhead": "0.4us",
            "gap": "0.5us",
            "spikes": {"share": "1%", "extra": "3us"},
            "modes": {"factor": 2.5, "share": 0.4, "dwell": "20ms", "moves-core-to-core": True},
            "drift": "2%",
            "first": "1ms",
            "clock": {"step": "1us", "claimed": "10ns"},
            "loss": "5%",
            "launch": "10%",
            "core-to-core": "80ns",
            "seed": 10**18,
        }
    )
    assert model == PathModel(
        latency=2e-6,
        bandwidth=10e9,
        segments=(Segment(start=65536, latency=4e-6),),
        noise=Noise(kind="ar1", spread=0.05, correlation=0.6),
        warm_up=3,
        wander=Wander(spread=0.02, time_constant=0.02, moves_core_to_core=True),
        ramp=Ramp(slower=0.3, time_constant=0.05),
        send_overhead=0.25e-6,
        receive_overhead=0.4e-6,
        gap=0.5e-6,
        spikes=Spikes(share=0.01, extra=3e-6),
        modes=Modes(factor=2.5, share=0.4, dwell=0.02, moves_core_to_core=True),
        drift=0.02,
        first=1e-3,
        clock=ClockModel(step=1e-6, claimed=10e-9),
        loss=0.05,
        launch=0.1,
        core_to_core=80e-9,
        seed=10**18,
    )
    assert parse_path_model(path_model_record(model)) == model
    plan = make_plan(python_layer({"simulated": path_model_record(model)}))
    assert (plan.simulated, plan.transport) == (model, ("simulated",))
    assert make_plan(plan_layer(plan)).simulated == model
    assert make_plan(python_layer(plan_record(plan))).simulated == model


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[simulated]\nlatncy = "2us"', "simulated: latncy: no such key; did you mean latency?"),
        ("[simulated.noise]\nx = 1", "simulated: noise.x: no such key; allowed: kind, spread,"),
        ('[simulated]\nlatency = "2 parsec"', "simulated: latency: '2 parsec' is not a time"),
        ("[simulated]\nlatency = -1.0", "simulated: latency: -1.0 is out of range; more than 0"),
        (
            '[simulated]\nlatency = "1us"\nsend-overhead = "0.7us"\nreceive-overhead = "0.4us"',
            "simulated: send_overhead, receive_overhead: 1.1e-06 s together are more than",
        ),
        ("[simulated]\nlatency = nan", "simulated: latency: nan is out of range"),
        ('[simulated]\nloss = "101%"', "simulated: loss: 1.01 is out of range; from 0 to less"),
        ("[simulated]\nseed = 1.5", "simulated: seed: expected int, got float"),
        ("[simulated.modes]\nshare = 0.4\ndwell = 0", "simulated: modes.dwell: 0 is out of range"),
        ('[simulated.ramp]\nslower = "-30%"', "simulated: ramp.slower: -0.3 is out of range; from"),
        ('[simulated.noise]\nkind = "pink"', "simulated: noise.kind: 'pink' is not known; allowed"),
        ("simulated = [1, 2]", "simulated: [1, 2] is not a table"),
        ('[simulated]\nnoise = "loud"', "simulated: noise: 'loud' is not a table"),
        ("[simulated]\nsegments = [3]", "simulated: segments[0]: 3 is not a table"),
        ("[simulated]\nsegments = [{from = -3}]", "simulated: segments[0].from: -3 is out of"),
        ("[simulated]\nsegments = [{latency = 1.0}]", "simulated: segments[0]: object missing"),
    ],
)
def test_an_error_is_one_line_with_file_and_key(tmp_path, content, said):
    assert mistake_in_file(tmp_path, content).startswith(said)
