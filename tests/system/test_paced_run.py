"""A view that paces a run: each slice waits for it."""

import itertools
import time

from halftrip import api
from halftrip.job.view import NoView
from halftrip.plan.layers import make_plan, python_layer

SECONDS = 0.05


class Pacing(NoView):
    paces = True

    def __init__(self):
        self.settings = []

    def before_slice(self, setting):
        self.settings.append(setting)
        time.sleep(SECONDS)


def test_no_slice_begins_before_the_view_has_returned(tmp_path):
    plan = {"transport": "pipe,shm", "sizes": "8,64", "slices": 2, "time": "2ms", "ci": "none"}
    view = Pacing()
    path = api.measure(make_plan(python_layer(plan)), tmp_path / "run.jsonl", view, [])
    run = api.load(path)
    measured = sorted(run.measurements, key=lambda each: each.at)
    assert len(measured) == 8
    assert view.settings == [each.configuration.setting for each in measured]
    assert all(b.at - a.at >= SECONDS for a, b in itertools.pairwise(measured))
