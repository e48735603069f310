"""Parts of a plan: each has keys of its own, a stronger layer wins over all of them, and together
they have each configuration once."""

import re
import textwrap

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.plan.configurations import PartPlans, settings
from halftrip.plan.layers import file_layer, make_plan, options_layer, plan_layer, python_layer
from halftrip.plan.parsing import NamesReader
from halftrip.plan.plan import PART_KEYS, Plan, plan_record
from halftrip.plan.settings import SETTINGS
from harness.files import ROOT
from harness.plans import mistake_in_file

CHOICES = {
    "shm": {"wait": ("spin",)},
    "tcp": {"wait": ("block", "spin")},
    "pipe": {"wait": ("block",)},
}
LATENCY_AND_STREAMS = """\
transport = "shm"
warmup = 10

[[part]]
sizes = "8,64"
iterations = 30

[[part]]
pattern = "stream"
sizes = "8"
window = 64
iterations = 100

[[part]]
pattern = "stream"
sizes = "1K"
window = 32
iterations = 40
warmup = 8
"""


def from_file(path, text, **options):
    path = path / "plan.toml"
    path.write_text(text)
    return make_plan(file_layer(path), options_layer(options))


def made(*layers):
    return make_plan(*(python_layer(keys) for keys in layers))


def points(plan):
    """The pattern, the size, the window and the counts of every configuration."""
    plans = PartPlans(plan, CHOICES)
    return [
        (each.pattern, each.size, each.window, plans.of(each).iterations, plans.of(each).warmup)
        for each in settings(plan, CHOICES)
    ]


# Which configurations there are.


def test_a_part_has_its_own_keys_and_the_others_of_the_plan(tmp_path):
    plan = from_file(tmp_path, LATENCY_AND_STREAMS)
    assert points(plan) == [
        ("pingpong", 8, 1, 30, 10),
        ("pingpong", 64, 1, 30, 10),
        ("stream", 8, 64, 100, 10),
        ("stream", 1024, 32, 40, 8),
    ]
    assert not plan.message_rate
    # Between two sizes, the largest numbers of the curve count.
    between = msgspec.structs.replace(settings(plan, CHOICES)[0], size=32)
    assert PartPlans(plan, CHOICES).of(between).iterations == 30
    assert {each.transport for each in settings(plan, CHOICES)} == {"shm"}


def test_transports_are_those_of_all_parts():
    plan = made({"part": [{"transport": "tcp"}, {"transport": "shm,tcp"}, {}], "transport": "pipe"})
    assert plan.transports == ("tcp", "shm", "pipe")
    assert plan.without("tcp").transports == ("shm", "pipe")
    assert {each.transport for each in settings(plan.without("tcp"), CHOICES)} == {"shm", "pipe"}
    assert made({"part": [{"transport": "tcp"}]}).without("tcp").transports == ()


counts = st.none() | st.integers(1, 1000)
tables = st.fixed_dictionaries(
    {},
    optional={
        "transport": st.sampled_from(["shm", "tcp", "shm,tcp", "pipe"]),
        "pattern": st.sampled_from(["pingpong", "stream", "pingpong,stream"]),
        "mode": st.sampled_from(["blocking", "nonblocking"]),
        "sizes": st.lists(st.sampled_from([0, 8, 64, 1024]), min_size=1, max_size=3),
        "wait": st.sampled_from(["block", "spin", "block:spin"]),
        "cache": st.sampled_from(["hot", "hot,cold"]),
        "perturb": st.integers(0, 3),
        "verify": st.booleans(),
        "rate": st.sampled_from([1e6, 1e9]),
        "iterations": st.integers(1, 1000),
        "warmup": st.integers(0, 1000),
    },
)
part_lists = st.lists(tables, min_size=1, max_size=4)
# What holds for the whole plan.
wholes = st.fixed_dictionaries(
    {},
    optional={
        "ci": st.one_of(st.just("none"), st.floats(0.001, 0.5)),
        "time": st.floats(1e-9, 1000),
        "slices": st.integers(1, 50),
        "ranks": st.integers(1, 8).map(lambda half: 2 * half),
        "pages": st.sampled_from(["4K", "4K:huge,huge"]),
        "buffers": st.sampled_from(["same", "separate", "same,separate"]),
        "cores": st.just("none"),
        "output": st.just("run.jsonl"),
    },
)


@given(part_lists, counts)
def test_configurations_are_those_of_the_parts_as_plans_of_their_own(parts, iterations):
    """And of each, the largest numbers of the parts that have it."""
    own = {"transport": "shm", "sizes": "8,64"}
    own |= {} if iterations is None else {"iterations": iterations}
    plan = made(own | {"part": parts})
    alone = [made(own | part) for part in parts]
    expected = list(dict.fromkeys(each for one in alone for each in settings(one, CHOICES)))
    assert settings(plan, CHOICES) == expected
    plans = PartPlans(plan, CHOICES)
    for each in expected:
        having = [one for one in alone if each in settings(one, CHOICES)]
        for name in ("iterations", "warmup"):
            known = [value for one in having if (value := getattr(one, name)) is not None]
            assert getattr(plans.of(each), name) == max(known, default=None)
        # Whoever measures it.
        measured = msgspec.structs.replace(each, pair=(3, 1), thread=2, concurrency=4)
        assert plans.of(measured) == plans.of(each)


# Which layer wins.

# What a part has, and what a stronger layer has. Of settings that are names, the last and the first
# of them.
VALUES = {
    name: (names[-1], names[0])
    for name, each in SETTINGS.items()
    if isinstance(each.read, NamesReader) and (names := [*each.read.allowed])
} | {
    "transport": ("shm", "tcp"),
    "pattern": ("stream", "exchange"),
    "mode": ("blocking", "nonblocking"),
    "sizes": ("8", "16"),
    "perturb": (2, 1),
    "window": (64, 4),
    "delay": ("50us", "0,2us"),
    "memory": ("host:host", "host"),
    "pages": ("4K", "huge"),
    "align": (4, 8),
    "socket_buffer": ("64K", "1M"),
    "nodelay": (False, True),
    "congestion": ("reno", "cubic"),
    "mss": (1000, 500),
    "dscp": ("EF", "AF11"),
    "busy_poll": ("50us", "10us"),
    "streams": ("4", "1,2"),
    "zerocopy": (True, False),
    "background": ("stream", "none,stream*2:8K"),
    "staging": ("whole", "none,chunk=512K"),
    "ucx_tls": ("tcp", "posix+cma,tcp"),
    "ucx_device": ("eth0", "lo"),
    "concurrent_pairs": ("1,all", 1),
    "rate": (1e9, 1e6),
    "verify": (True, False),
    "iterations": (100, 7),
    "warmup": (20, 3),
}


@pytest.mark.parametrize("name", PART_KEYS)
def test_a_stronger_layer_replaces_a_key_in_every_part(name):
    """As if no part had it."""
    own, stronger = VALUES[name]
    other = {"align": 16} if name != "align" else {"perturb": 5}
    plan = made({"pattern": "stream", "part": [{name: own}, {name: own} | other]}, {name: stronger})
    assert plan == made({"pattern": "stream", "part": [{}, other]}, {name: stronger})
    assert len({getattr(each, name, each.extra) for each in plan.part_plans}) == 1


@pytest.mark.parametrize("early", [{"ci": "2%"}, {"time": "1s"}])
def test_what_stops_early_replaces_the_counts_of_the_parts(tmp_path, early):
    plan = from_file(tmp_path, LATENCY_AND_STREAMS, **early)
    assert {each.iterations for each in plan.part_plans} == {None}
    assert [each.warmup for each in plan.part_plans] == [10, 10, 8]


def test_a_layer_replaces_the_parts_of_another():
    plan = made({"part": [{"sizes": "8"}, {"sizes": "64"}]}, {"part": [{"sizes": "1K"}]})
    assert [each.sizes for each in plan.part_plans] == [(1024,)]
    # Of its own keys, those of its parts win.
    plan = made({"sizes": "8"}, {"sizes": "16", "part": [{"sizes": "1K"}, {}]})
    assert [each.sizes for each in plan.part_plans] == [(1024,), (16,)]
    assert made({"part": [{"sizes": "8"}]}, {"part": []}).part == ()
    # The preset is weaker than a part, and a count says how long a run takes.
    plan = made({"preset": "quick", "part": [{"sizes": "8", "iterations": 5}, {"sizes": "64"}]})
    assert [(each.sizes, each.iterations) for each in plan.part_plans] == [((8,), 5), ((64,), None)]
    assert plan.max_duration is None
    assert made({"preset": "quick", "part": [{"sizes": "8"}]}).max_duration == 10


def test_a_default_window_is_for_those_patterns_that_have_one():
    defaults = python_layer({"part": [{"window": 8}, {"window": 8, "pattern": "stream"}]})
    plan = make_plan(defaults=defaults)
    assert [each.window for each in plan.part_plans] == [(), (8,)]
    assert make_plan(python_layer(plan_record(plan))) == plan
    # A window for all parts is for those that have one, too.
    parts = [{"pattern": "stream"}, {"pattern": "pingpong"}]
    plan = made({"transport": "shm", "sizes": "8", "window": 4, "part": parts})
    assert [(pattern, window) for pattern, _, window, *_ in points(plan)] == [
        ("stream", 4),
        ("pingpong", 1),
    ]


# The record of a plan.


@given(st.just([]) | part_lists, counts, wholes)
def test_a_plan_can_be_made_again_from_its_record(parts, iterations, whole):
    keys = {"part": parts} | whole
    if iterations is not None and not keys.keys() & {"ci", "time"}:
        keys["iterations"] = iterations
    plan = made(keys)
    record = msgspec.json.decode(msgspec.json.encode(plan_record(plan)))
    assert make_plan(python_layer(record)) == msgspec.structs.replace(plan, output=None)
    assert make_plan(plan_layer(plan)) == plan
    # And from what the ranks get.
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


# Mistakes.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[part]]\n[[part]]\nsizes = "8,4Q"', "part 2: sizes: '4Q' is not a size"),
        ('[[part]]\nszes = "8"', "part 1: szes: no such key; did you mean sizes?"),
        (
            "[[part]]\nranks = 4",
            "part 1: ranks: holds for the whole plan; in a part: transport, pattern, mode, sizes",
        ),
        ("[[part]]\n[[part.part]]\nsizes = 8", "part 1: part: holds for the whole plan"),
        (
            '[[part]]\npattern = "stream"\n[[part]]\nwindow = 8',
            "part 2: window: pingpong has no window; --pattern stream",
        ),
        ("part = [8]", "part: not a list of tables; begin each with [[part]]"),
    ],
)
def test_a_mistake_in_a_part_is_one_line_with_file_part_and_key(tmp_path, text, said):
    assert mistake_in_file(tmp_path, text).startswith(said)


def test_the_documentation_names_every_key_of_a_part_and_its_example_is_a_plan(tmp_path):
    options = (ROOT / "docs" / "options.md").read_text()
    (keys,) = re.findall(r"A part of a plan may have the keys\n(.*?);", options, re.DOTALL)
    assert re.findall("`([a-z_]*)`", keys) == list(PART_KEYS)
    text = (ROOT / "docs" / "measuring.md").read_text()
    begin = text.index("    transport = ", text.index("`[[part]]`"))
    example = textwrap.dedent(text[begin : text.index("A part may have")])
    assert points(from_file(tmp_path, example, transport="shm")) == [
        ("pingpong", 8, 1, 30, 10),
        ("pingpong", 64, 1, 30, 10),
        ("pingpong", 1024, 1, 30, 10),
        ("stream", 65536, 32, 40, 8),
    ]
