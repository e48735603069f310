"""The plan that measures a curve again: its own configuration, and sizes around two places."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.errors import UsageError
from halftrip.plan.around import curve_keys, sizes_around
from halftrip.plan.configurations import settings
from halftrip.plan.layers import make_plan, python_layer
from halftrip.plan.plan import plan_record
from halftrip.registry import TRANSPORTS
from harness.bench import process
from harness.runs import configuration


def choices_of(plan):
    loaded = {name: TRANSPORTS.load(name)(process(0)) for name in plan.transports}
    return {name: transport.capabilities.choices for name, transport in loaded.items()}


@given(st.floats(512.0, 1e8), st.floats(1.0, 1.1), st.floats(1.5, 64.0))
def test_a_place_is_between_two_sizes_with_others_on_both_sides(low, width, factor):
    places = [(low, low * width), (low * factor, low * width * factor)]
    sizes = sizes_around(places)
    assert list(sizes) == sorted(set(sizes))
    assert sizes[0] >= 1
    for first, last in places:
        assert sum(size <= first for size in sizes) >= 2
        assert sum(size >= last for size in sizes) >= 2
        assert not any(first < size < last for size in sizes)
    assert len(sizes) < 80


def test_the_plan_has_the_curve_alone():
    plan = make_plan(
        python_layer(
            {
                "transport": ["tcp", "unix"],
                "pattern": ["pingpong", "stream"],
                "wait": ["spin", "spin:block"],
                "pages": ["4K", "huge"],
                "socket_buffer": ["64K", "0"],
                "window": [1, 16],
                "vary": {"env.X": ["1", "2"]},
                "launches": 3,
                "cores": [0, 1],
            }
        )
    )
    variant = (("env.X", "2"),)
    every = settings(msgspec.structs.replace(plan, vary=(("env.X", ("2",)),)), choices_of(plan))
    for setting in dict.fromkeys(each.curve for each in every):
        keys = curve_keys(setting, plan_record(plan)) | {"sizes": "8,64,512"}
        again = make_plan(python_layer(keys))
        assert again.vary == (("env.X", ("2",)),)
        assert again.cores == (0, 1)
        assert setting.variant == variant
        found = {each.curve for each in settings(again, choices_of(again))}
        assert found == {setting}


def test_a_side_of_a_comparison_is_refused():
    with pytest.raises(UsageError, match="two sides"):
        curve_keys(configuration("shm", 0, variant=(("side", "base"),)), {})
