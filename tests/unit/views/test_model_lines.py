"""What is printed of LogGP, NetPIPE's figures and the max-rate model."""

import json

import pytest

from halftrip.analysis.loggp import LogGPFit, Overheads, Parameter
from halftrip.analysis.max_rate import MaxRate, MaxRateFit
from halftrip.analysis.netpipe_figures import NetpipeFigures, SizeFound
from halftrip.render.blocks import View
from halftrip.results.names import Names
from halftrip.stats.estimate import Estimate
from halftrip.views import loggp, models
from halftrip.views.fit import sizes_in_words
from harness import runs
from harness.screens import text_of

NAMES = Names({})


def known(value):
    return Parameter(Estimate(value, 0.98 * value, 1.03 * value))


def overheads(size, send=120.0):
    half = Estimate(700.0, 690.0, 720.0)
    return Overheads(size, 2000, known(3 * send), known(send), known(2 * send), half, known(705.0))


def fit(transport="shm", **fields):
    values = {
        "path": runs.configuration(transport, 0), "over": "slices", "size": 1, "window": 16,
        "latency": known(340.0), "overheads": (overheads(1), overheads(1024, 150.0)),
        "gap": known(180.0), "per_byte": known(0.05), "misfit": 1.02, "misfit_at": 64,
    }  # fmt: skip
    return LogGPFit(**(values | fields))


def shown(group, width=120):
    text = text_of(View(group), width)
    assert max(map(len, text.splitlines())) <= width
    return text


def test_the_parameters_and_the_overheads_by_size():
    text = shown(loggp.blocks([fit(), fit("tcp")], NAMES))
    first, units, shm, *_ = text.splitlines()
    assert first.split() == ["path", "L", "o_s", "o_r", "g", "G"]
    assert units.split() == ["us", "us", "us", "us", "ns/B"]
    assert shm.startswith("shm")
    assert "0.340 [0.333, 0.350]" in shm
    assert "1K" in text
    assert "half a round trip" in text
    assert "in brackets: 95 % interval, over slices." in text


@pytest.mark.parametrize("width", [40, 80, 100, 200])
def test_all_parameters_are_shown_and_one_that_is_not_told_is_said_so(width):
    """What a message of a byte takes is 0.7 us."""
    wide = overheads(1)._replace(receive=Parameter(Estimate(9.0, -52.0, 28_439.0)))
    fits = [fit(name) for name in ("mpi", "tcp", "udp", "unix", "shm")]
    text = shown(loggp.blocks([fit("pipe", overheads=(wide,)), *fits], NAMES), width)
    assert text.count("0.180 [0.176, 0.185]") == len(fits) + 1
    assert text.count("0.0500 [0.0490, 0.0515]") == len(fits) + 1
    assert "28,439" not in text
    assert "pipe: o_r not told" in " ".join(text.split())


def test_what_is_said_of_paths_that_lack_something_or_do_not_fit():
    said = "shm: replies go another way than streams"
    assert said in shown(loggp.blocks([fit("shm")], NAMES))
    assert said not in shown(loggp.blocks([fit("shm-ring"), fit("tcp")], NAMES))
    lacking = Parameter(None, "no ping-pong with a delay; measure it: halftrip run loggp")
    fits = [
        fit(name, latency=lacking, overheads=(), gap=lacking, per_byte=lacking, misfit=None)
        for name in ("shm", "tcp", "mpi")
    ]
    text = shown(loggp.blocks(fits, NAMES))
    assert text.count("halftrip run loggp") == 1
    assert text.strip().startswith("shm and 2 more: no L, g, G, o_s, o_r: no ping-pong")
    below = overheads(64)._replace(receive=Parameter(Estimate(-9.0, -12.0, -1.0)))
    for changes, said in (
        ({"misfit": 1.6}, "at 64 B it is off by a factor of 1.6"),
        ({"latency": Parameter(Estimate(5.0, -10.0, 20.0))}, "L cannot be told from 0"),
        ({"overheads": (below,)}, "shm: o_r of 64 is below 0"),
    ):
        assert said in shown(loggp.blocks([fit(**changes)], NAMES))


def test_the_content_is_json_with_units():
    (found,) = json.loads(json.dumps(loggp.content([fit()]), allow_nan=False))
    assert found["transport"] == "shm"
    assert found["L_ns"] == 340.0
    assert found["L_low_ns"] < found["L_ns"] < found["L_high_ns"]
    assert found["L_reason"] is None
    assert found["overheads"][1]["size_bytes"] == 1024
    assert found["overheads"][0]["o_s_ns"] == 120.0
    infinite = fit(misfit=float("inf"), latency=Parameter(None, "why"))
    (found,) = json.loads(json.dumps(loggp.content([infinite]), allow_nan=False))
    assert found["misfit"] is found["L_ns"] is None
    assert found["L_reason"] == "why"


def test_netpipes_figures():
    found = NetpipeFigures(
        curve=runs.configuration("tcp", 0, "block"), smallest=1, largest_at=1 << 20,
        latency=Estimate(9000.0, 8900.0, 9100.0), bandwidth=Estimate(3e9, 2.9e9, 3.1e9),
        saturation=SizeFound(200_000.0, 131_072, 262_144), n_half=None,
        reasons={"n_half": "1K, the smallest size, may have half of the largest bandwidth"},
    )  # fmt: skip
    text = shown(models.netpipe_blocks([found], NAMES))
    assert "9.00 [8.90, 9.10]" in text
    assert "200,000 [128K, 256K]" in text
    assert "tcp: no n1/2: 1K, the smallest size" in text
    (content,) = json.loads(json.dumps(models.netpipe_content([found]), allow_nan=False))
    assert (content["saturation_low_bytes"], content["n_half_bytes"]) == (131_072, None)


def test_the_max_rate_model():
    model = MaxRate(Estimate(2000.0, 1900.0, 2100.0), Estimate(1e9, 0.98e9, 1.02e9), None, 4, 1.01)
    setting = runs.configuration("tcp", 0, "block")
    fits = [
        MaxRateFit(setting, "launches", (1, 2, 4), model, together_least=3.9e9),
        MaxRateFit(runs.configuration("shm", 0), None, (1,), None, reason="one pair at a time"),
    ]
    text = shown(models.max_rate_blocks(fits, NAMES))
    assert "at least 3.9" in text
    assert "shm spin: no max-rate model: one pair at a time" in text
    assert "over launches" in text
    one, other = json.loads(json.dumps(models.max_rate_content(fits), allow_nan=False))
    assert one["R_N_bytes_per_s"] is None
    assert one["R_N_least_bytes_per_s"] == 3.9e9
    assert other["reason"] == "one pair at a time"


def test_many_sizes_are_counted():
    assert sizes_in_words([8, 4096]) == "8 B, 4K"
    assert sizes_in_words(range(4, 4000, 4)) == "999 sizes from 4 B to 3996 B"
