"""The configurations of a plan: every combination once, with the settings of each end."""

import subprocess
import sys
from itertools import product

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.plan.configurations import configuration_of, settings
from halftrip.plan.layers import make_plan, options_layer, python_layer
from halftrip.plan.plan import plan_keys
from halftrip.registry import TRANSPORTS
from halftrip.results.configuration import UNTUNED, Tuning

CHOICES = {"shm": {"wait": ("spin",)}, "tcp": {"wait": ("block", "spin")}}

plans = st.fixed_dictionaries(
    {},
    optional={
        "transport": st.lists(st.sampled_from(list(TRANSPORTS.built_in)), min_size=1, unique=True),
        "sizes": st.lists(st.integers(0, 1 << 30), min_size=1, max_size=20),
        "wait": st.sampled_from(["block", "spin", "block,spin", "spin:block"]),
        "buffers": st.sampled_from(["same", "separate", "same,separate"]),
        "pages": st.sampled_from(["4K", "4K:huge,huge"]),
    },
)


def settings_of(choices=CHOICES, **options):
    return settings(make_plan(options_layer(options)), choices)


@given(plans)
def test_every_combination_is_a_configuration_once(keys):
    plan = make_plan(python_layer(keys | {"message_rate": False}))
    configurations = settings(plan, CHOICES)
    assert len(set(configurations)) == len(configurations)
    assert [configuration.setting for configuration in configurations] == configurations
    there = [name for name in plan.transport if name in CHOICES]
    kinds = max(len(plan.wait), 1) * len(plan.buffers) * len(plan.pages)
    assert len(configurations) == len(there) * kinds * len(plan.sizes)


@pytest.mark.parametrize(
    ("option", "allowed"), [("wait", ("block", "spin")), ("pages", ("4K", "huge"))]
)
def test_settings_of_each_end(option, allowed):
    for initiator, responder in product(allowed, repeat=2):
        setting = f"{initiator}:{responder}"
        (configuration,) = settings_of(transport="tcp", sizes="8", **{option: setting})
        assert getattr(configuration.initiator, option) == initiator
        assert getattr(configuration.responder, option) == responder
        (same,) = settings_of(transport="tcp", sizes="8", **{option: initiator})
        assert (same == configuration) == (initiator == responder)


def settled(fields, **options):
    """These fields of each configuration of tcp; `wait` and `memory` are of both ends."""
    found = settings_of(**({"transport": "tcp", "sizes": "8"} | options))
    ends = ("wait", "memory")
    return [
        tuple(each.both_ends(name) if name in ends else getattr(each, name) for name in fields)
        for each in found
    ]


PLACES = ("window", "places")
OWN_AND_SAME = {"pattern": "stream", "places": "own,same"}
DELAYS = ("pattern", "window", "delay")


@pytest.mark.parametrize(
    ("fields", "options", "expected"),
    [
        # Each transport waits in its own default way.
        (("transport", "wait"), {"transport": "shm,tcp"}, [("shm", "spin"), ("tcp", "block")]),
        (
            ("wait",),
            {"wait": "spin,spin:block,block:block,block"},
            [("spin",), ("spin:block",), ("block",)],
        ),
        (("memory",), {"memory": "host,host:cuda"}, [("host",), ("host:cuda",)]),
        # Each message of a window has a place of its own unless asked otherwise.
        (PLACES, {"pattern": "stream"}, [(64, "own")]),
        (PLACES, {"pattern": "stream", "places": "same"}, [(64, "same")]),
        # No two rows of what is the same.
        (PLACES, OWN_AND_SAME | {"window": "1,2"}, [(1, "same"), (2, "own"), (2, "same")]),
        # Where every message has a place of its own anyway.
        (PLACES, OWN_AND_SAME | {"window": "2", "verify": True}, [(2, "own")]),
        (PLACES, OWN_AND_SAME | {"window": "2", "cache": "cold"}, [(2, "own")]),
        # A delay is for what has something between its sends.
        (
            DELAYS,
            {"pattern": "pingpong,stream", "window": "1,4", "delay": "0,50us"},
            [
                ("pingpong", 1, 0), ("pingpong", 1, 50_000),
                ("stream", 1, 0), ("stream", 4, 0), ("stream", 4, 50_000),
            ],
        ),
        (
            DELAYS,
            {"delay": "50us", "message_rate": True},
            [("pingpong", 1, 50_000), ("stream", 64, 0)],
        ),
        # A default run has a stream of small messages over each transport.
        (
            ("transport", "pattern", "wait"),
            {"transport": "shm,tcp", "message_rate": True},
            [
                ("shm", "pingpong", "spin"), ("tcp", "pingpong", "block"),
                ("shm", "stream", "spin"), ("tcp", "stream", "block"),
            ],
        ),
    ],
)  # fmt: skip
def test_each_setting_makes_its_rows(fields, options, expected):
    assert settled(fields, **options) == expected


def only_configuration(pair=(0, 1), thread=0, at_once=1, **options):
    """The only configuration of a plan, between these ranks."""
    plan = make_plan(options_layer({"transport": "tcp", "sizes": "8"} | options))
    (setting,) = settings(plan, CHOICES)
    configuration = configuration_of(plan, setting, pair, thread, at_once)
    assert configuration.setting == setting
    return configuration


def test_requested_cores_are_those_of_each_end():
    configuration = only_configuration((1, 3), cores="3,5,0,7")
    assert (configuration.pair, configuration.initiator.core, configuration.responder.core) == (
        (1, 3),
        5,
        7,
    )
    backwards = only_configuration((3, 0), cores="3,5,0,7")
    assert (backwards.initiator.core, backwards.responder.core) == (7, 3)
    threads = [only_configuration(thread=thread, cores="0-3", threads="2") for thread in (0, 1)]
    ends = [
        (configuration.thread, configuration.initiator.core, configuration.responder.core)
        for configuration in threads
    ]
    assert ends == [(0, 0, 2), (1, 1, 3)]
    for options in ({"cores": "none"}, {}):
        configuration = only_configuration(**options)
        assert (configuration.initiator.core, configuration.responder.core) == (None, None)


@pytest.mark.parametrize(("at_once", "threads", "together"), [(1, 1, 1), (3, 1, 3), (2, 4, 8)])
def test_all_threads_of_all_pairs_talk_at_the_same_time(at_once, threads, together):
    assert only_configuration(at_once=at_once, threads=str(threads)).concurrency == together


@pytest.mark.parametrize(
    ("keys", "has_stream"),
    [
        ({}, True),
        ({"time": "10ms"}, True),
        ({"message_rate": False}, False),
        ({"sizes": "8", "message_rate": True}, True),
        ({"pattern": "pingpong"}, False),
        ({"iterations": 10}, False),
        ({"preset": "quick"}, False),
        ({"simulated": {"latency": "1us"}}, False),
    ],
)
def test_who_says_what_to_measure_gets_no_more(keys, has_stream):
    plan = make_plan(python_layer(keys))
    found = settings(plan, {name: {"wait": ("spin",)} for name in plan.transport})
    assert any(configuration.pattern == "stream" for configuration in found) == has_stream
    assert make_plan(python_layer(plan_keys(plan))) == plan


def test_a_plan_is_read_without_numpy():
    """A mistake in it is reported before numpy, which takes long to import, is needed."""
    code = "import sys, halftrip.plan.plan, halftrip.plan.layers; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


PYTHON = {
    "native": {"wait": ("spin",)},
    "objects": {"wait": ("block",), "object": ("bytes", "array", "dict")},
    "sockets": {"wait": ("block",), "socket": ("pair", "req")},
    "channels": {"wait": ("spin", "block", "adaptive"), "ownership": ("keep", "transfer")},
}


def python_settings(**options):
    plan = make_plan(options_layer({"sizes": "8"} | options))
    plan = msgspec.structs.replace(plan, transport=tuple(PYTHON))
    return [
        (each.transport, each.object, each.socket, each.ownership)
        for each in settings(plan, PYTHON)
    ]


def test_a_setting_applies_to_the_transports_that_have_a_choice_of_it():
    # The first value of a setting is the transport's own default.
    assert python_settings() == [
        ("native", "buffer", None, None),
        ("objects", "bytes", None, None),
        ("sockets", "buffer", "pair", None),
        ("channels", "buffer", None, "keep"),
    ]
    asked = python_settings(object="dict,array", socket="req", ownership="keep,transfer")
    assert asked == [
        ("native", "buffer", None, None),
        ("objects", "dict", None, None),
        ("objects", "array", None, None),
        ("sockets", "buffer", "req", None),
        ("channels", "buffer", None, "keep"),
        ("channels", "buffer", None, "transfer"),
    ]


def tunings_of(**options):
    """The settings of sockets, of each transport."""
    choices = {
        "tcp": {"wait": ("block",), "socket_buffer": (), "nodelay": (), "mss": ()},
        "unix": {"wait": ("block",), "socket_buffer": ()},
        "shm": {"wait": ("spin",)},
    }
    plan = make_plan(python_layer({"transport": "tcp,unix,shm", "sizes": "8"} | options))
    return [(each.transport, each.tuning) for each in settings(plan, choices)]


def test_settings_of_sockets_are_those_that_a_transport_has():
    assert tunings_of() == [("tcp", UNTUNED), ("unix", UNTUNED), ("shm", UNTUNED)]
    assert tunings_of(socket_buffer="system,4K", mss="500") == [
        ("tcp", Tuning(mss=500)),
        ("tcp", Tuning(mss=500, socket_buffer=4096)),
        ("unix", UNTUNED),
        ("unix", Tuning(socket_buffer=4096)),
        ("shm", UNTUNED),
    ]
    assert tunings_of(nodelay=[True, False]) == [
        ("tcp", UNTUNED),
        ("tcp", Tuning(nodelay=False)),
        ("unix", UNTUNED),
        ("shm", UNTUNED),
    ]
