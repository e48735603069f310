"""A batch of many iterations in virtual time takes no more memory than one of some."""

import numpy as np
import pytest

from halftrip.simulation.path_model import Noise, PathModel
from halftrip.transports import simulated
from halftrip.transports.simulated import VirtualPath
from harness.bench import process
from harness.runs import configuration


def endpoint():
    path = VirtualPath(process(), PathModel(noise=Noise(kind="none")), initiates=True)
    return path.endpoint(configuration(transport="simulated"))


@pytest.mark.parametrize(
    ("untimed", "iterations", "samples"), [(0, 1, 100), (7, 10, 10), (250, 1000, 3), (1, 99, 5)]
)
def test_it_is_computed_in_parts(monkeypatch, untimed, iterations, samples):
    whole = endpoint().run(untimed, iterations, samples)
    monkeypatch.setattr(simulated, "_MOST_AT_ONCE", 99)
    made = []
    compute = simulated.SimulatedPath.iterations

    def count(self, one, number):
        made.append(number)
        return compute(self, one, number)

    monkeypatch.setattr(simulated.SimulatedPath, "iterations", count)
    parts = endpoint().run(untimed, iterations, samples)
    assert sum(made) == untimed + iterations * samples
    assert max(made) <= 99
    assert whole.times.shape == parts.times.shape == (samples,)
    # Without noise both are the same, but for a rounding of sums.
    np.testing.assert_allclose(whole.times, parts.times, atol=2)
    assert whole.start == pytest.approx(parts.start, abs=2)
