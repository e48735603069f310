"""What a plan takes is known before anything is made of it, and refused where it is too much."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.errors import UsageError
from halftrip.plan.configurations import settings
from halftrip.plan.cost import check_cost, cost_of
from halftrip.plan.layers import file_layer, make_plan, options_layer, python_layer
from halftrip.plan.plan import Plan
from halftrip.registry import TRANSPORTS
from halftrip.transports.base import ProcessContext
from harness.plans import mistake, mistake_in_file


def choices_of(plan):
    process = ProcessContext.from_plan(plan, rank=0, token="")
    loaded = {name: TRANSPORTS.load(name)(process) for name in plan.transports}
    return {name: transport.capabilities.choices for name, transport in loaded.items()}


@given(
    st.lists(st.sampled_from(["tcp", "shm", "udp"]), min_size=1, unique=True),
    st.lists(st.sampled_from(["pingpong", "stream", "put"]), min_size=1, unique=True),
    st.integers(0, 2),
    st.booleans(),
    st.sampled_from([(), ("spin", "block")]),
)
def test_no_plan_has_more_configurations_than_its_cost_says(
    transports, patterns, perturb, rate, waits
):
    plan = Plan(
        transport=tuple(transports),
        pattern=tuple(patterns),
        sizes=(8, 64),
        perturb=perturb,
        message_rate=rate,
        wait=waits,
    )
    assert len(settings(plan, choices_of(plan))) <= cost_of(plan, 2).configurations


def test_rows_and_seconds_are_those_of_all_pairs_and_launches_and_of_a_job():
    keys = {"transport": "tcp", "sizes": "8,64", "pairs": "all", "ci": "none", "time": 2}
    plan = make_plan(python_layer(keys | {"launches": 3}))
    cost = cost_of(plan, 4)
    assert (cost.configurations, cost.rows) == (2, 12)
    # Three rounds, in which two pairs talk.
    assert cost.seconds == pytest.approx(3 * 3 * 2 * 2)
    plan = Plan(transport=("tcp",), sizes=(8,), pairs="all")
    check_cost(plan, 1000)
    with pytest.raises(UsageError, match="1,999,000 rows of all pairs"):
        check_cost(plan, 2000)


TOO_MUCH = [
    ({"ranks": "1" + "0" * 15}, "--ranks: 1000000000000000 is too many; at most 4096"),
    ({"ranks": "4096", "pairs": "all"}, "--ranks: the plan has 1,207,664,640 rows of all pairs"),
    ({"threads": "1" + "0" * 12}, "--threads: 1000000000000 is too many; at most 1024"),
    ({"threads": "1024", "ranks": "64"}, "--ranks: the plan has 65,536 threads of all ranks"),
    ({"cores": "0-99999"}, "--cores: '0-99999' names too many cores; at most 16384"),
    ({"sizes": ",".join(["1..4M*1.001"] * 1000)}, "--sizes: '1..4M*1.001,"),
    ({"transport": "tcp,udp,shm", "sizes": "1..90000+1"}, "the plan has 270,000 configurations"),
]


@pytest.mark.parametrize(("options", "said"), TOO_MUCH)
def test_a_plan_of_too_much_is_refused_at_once(options, said):
    assert mistake(lambda: make_plan(options_layer(options))).startswith(said)


def test_what_takes_too_long_is_refused_in_virtual_time_too():
    def simulated(iterations):
        return make_plan(options_layer({"transport": "simulated", "iterations": iterations}))

    simulated("1000000000000")
    with pytest.raises(UsageError, match=r"the plan takes [0-9,]+ days at least"):
        simulated("999999999999999")
    keys = {"transport": "tcp", "sizes": "1..10000+1", "ci": "none", "time": "5000"}
    with pytest.raises(UsageError, match="the plan takes 579 days at least; at most 366"):
        make_plan(python_layer(keys))
    make_plan(python_layer(keys | {"max_duration": "1h"}))


FILES = [
    ("transport = []\n", "transport: an empty list measures nothing; leave it out"),
    ("launches = 2\nmax-launches = 3\nmax_launches = 3\n", "max-launches: there twice"),
    (f"slices = {'9' * 5000}\n", "not a plan: Exceeds the limit"),
    (f"time = 0x{'f' * 4000}\n", "time: a number of 16000 bits is too large"),
    (f"sizes = {'[' * 5000}{']' * 5000}\n", "not a plan: it is nested too deeply"),
    (f"sizes = {'[' * 20}{']' * 20}\n", "sizes: it is nested too deeply"),
    ('output = "a\\u0000b"\n', "output: 'a\\x00b' has a NUL"),
    ("# " + "x" * (1 << 20), "more than 1 MiB"),
]


@pytest.mark.parametrize(("text", "said"), FILES, ids=[said for _, said in FILES])
def test_a_file_with_what_no_plan_has_is_one_line(tmp_path, text, said):
    assert mistake_in_file(tmp_path, text).startswith(said)


def test_what_is_no_file_is_not_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero"):
        with pytest.raises(UsageError, match="not a regular file"):
            file_layer(path)
    with pytest.raises(UsageError, match="no file has such a name"):
        file_layer("a\0b")
    with pytest.raises(UsageError, match="is not UTF-8"):
        make_plan(options_layer({"output": "a\udc80b"}))
