"""Plans: what a file, the command line and Python say, and how they go together."""

import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.errors import UsageError
from halftrip.plan.cases import expand
from halftrip.plan.plan import (
    FIELDS,
    Plan,
    file_layer,
    make_plan,
    options_layer,
    plan_layer,
    plan_record,
    python_layer,
)
from halftrip.registry import TRANSPORTS


def from_options(**options):
    return make_plan(options_layer(options))


def test_an_empty_plan_is_the_default():
    assert make_plan() == Plan()
    assert from_options(sizes=None) == Plan()


def test_every_field_of_a_plan_can_be_given():
    assert set(FIELDS) == {field.name for field in msgspec.structs.fields(Plan)}


def test_options_win_over_the_file(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text('transport = ["tcp"]\nsizes = "8,64"\nci = "2%"\ncores = [0, 1]\n')
    plan = make_plan(file_layer(path), options_layer({"sizes": "16"}))
    assert plan.transport == ("tcp",)
    assert plan.sizes == (16,)
    assert plan.ci == pytest.approx(0.02)
    assert plan.cores == (0, 1)


def test_toml_may_use_its_own_lists_and_numbers(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text('sizes = [8, "1K", "2K..4K"]\ntime = 0.5\nrepetitions = 3\nquiet = true\n')
    plan = make_plan(file_layer(path))
    assert plan.sizes == (8, 1024, 2048, 4096)
    assert plan.time == pytest.approx(0.5)
    assert plan.repetitions == 3
    assert plan.quiet


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"transport": "carrier-pigeon"}, "--transport: 'carrier-pigeon' is not known; allowed:"),
        ({"pattern": "x"}, "--pattern: 'x' is not known; allowed: pingpong"),
        ({"mode": "x"}, "--mode: 'x' is not known; allowed: blocking"),
        ({"wait": "sleep"}, "--wait: 'sleep' is not known; allowed: block, spin"),
        ({"buffers": "two"}, "--buffers: 'two' is not known; allowed: same, separate"),
        ({"pages": "2M"}, "--pages: '2M' is not known; allowed: 4K, huge"),
        ({"sizes": "4Q"}, "--sizes: '4Q' is not a size"),
        ({"ci": "0"}, "--ci: '0' is out of range"),
        ({"ci": "wide"}, "--ci: 'wide' is not a share"),
        ({"time": "0s"}, "--time: '0s' is out of range"),
        ({"time": "soon"}, "--time: 'soon' is not a time"),
        ({"iterations": "0"}, "--iterations: 0 is too few"),
        ({"iterations": "many"}, "--iterations: 'many' is not a whole number"),
        ({"repetitions": "1.5"}, "--repetitions: '1.5' is not a whole number"),
        ({"cores": "0;1"}, "--cores: '0;1' is not a core"),
        ({"cores": "0"}, "--cores: 1 core for 2 ranks; name 2, one for each, as 0,1"),
        ({"cores": "0,1,2"}, "--cores: 3 ranks cannot form halves"),
        ({"cores": "0,1", "ranks": "4"}, "--cores: 2 cores for 4 ranks; name 4, one for each, as"),
        (
            {"cores": "0-2", "ranks": "2", "threads": "3"},
            "--cores: 3 cores for 2 ranks of 3 threads; name 6, one for each, as 0-5",
        ),
        ({"window": "8"}, "--window: pingpong has no window; --pattern stream, bidirectional"),
        (
            {"window": "8", "pattern": "exchange,pingping"},
            "--window: exchange, pingping has no window",
        ),
        (
            {"ranks": "4", "pairs_at_once": "3"},
            "--ranks: 3 pairs at once are too many: 4 ranks make 2 pairs at a time",
        ),
        ({"ranks": "3"}, "--ranks: 3 ranks cannot form halves"),
        ({"ranks": "1"}, "--ranks: 1 is too few"),
        ({"launcher": "rocket"}, "--launcher: 'rocket' is not known; allowed: local, mpiexec"),
        ({"iterations": "5", "ci": "1%"}, "--iterations: a fixed count ends a case by itself"),
        ({"iterations": "9" * 30}, f"--iterations: {'9' * 30} is too many; at most"),
        ({"sizes": "9" * 400}, f"--sizes: '{'9' * 40}' is more than any memory holds"),
        ({"cores": "²,1"}, "--cores: '²' is not a core; write core numbers as 0,1 or 0-3, or none"),
        ({"cores": "0-9999999999"}, "--cores: '0-9999999999' is not a core"),
        ({"cores": "9" * 5000}, "--cores: '9999"),
        ({"cores": "3-0"}, "--cores: '3-0' ends before it begins"),
        ({"szes": "8"}, "--szes: no such key; did you mean sizes?"),
    ],
)
def test_what_is_wrong_is_said_with_where_and_what_is_allowed(options, message):
    with pytest.raises(UsageError) as caught:
        from_options(**options)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("sizes = ", "not TOML"),
        ('hue = "red"', "hue: no such key; allowed: transport"),
        ("quiet = 1", "quiet: 1 is neither true nor false"),
        ("repetitions = true", "repetitions: 0 is too few"),
        ('[sizes]\nfirst = "8"', "sizes:"),
    ],
)
def test_a_wrong_file_is_named_with_its_key(tmp_path, content, message):
    path = tmp_path / "plan.toml"
    path.write_text(content)
    with pytest.raises(UsageError) as caught:
        make_plan(file_layer(path))
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_no_text_is_said_so(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        file_layer(tmp_path / "none.toml")
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not a text file"):
        file_layer(path)


def test_how_to_stop_is_one_choice_and_the_last_one_wins():
    file = python_layer({"iterations": 100})
    assert make_plan(file).iterations == 100
    assert make_plan(file, options_layer({"ci": "2%"})).iterations is None
    assert make_plan(python_layer({"ci": "2%"}), options_layer({"iterations": 7})).iterations == 7


def test_cores_say_how_many_ranks_there_are():
    assert from_options(cores="0-3").ranks == 4
    assert from_options(cores="0-1,4,5").cores == (0, 1, 4, 5)
    assert from_options(cores="none") == Plan(cores="none")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"transport": ("pigeon",)}, "transport: 'pigeon' is not known"),
        ({"sizes": ()}, "sizes: a size is empty"),
        ({"sizes": (-4,)}, "sizes: '-4' is not a size"),
        ({"cores": (0, 1, 2)}, "cores: 3 ranks cannot form halves"),
        ({"time": -1.0}, "time: -1.0 is out of range"),
        ({"ci": 7.0}, "ci: 7.0 is out of range"),
        ({"ranks": 3}, "ranks: 3 ranks cannot form halves"),
    ],
)
def test_a_plan_made_by_hand_is_looked_at_like_any_other(keys, message):
    with pytest.raises(UsageError, match=message):
        make_plan(plan_layer(Plan(**keys)))


def test_a_plan_made_by_hand_keeps_all_that_it_says():
    plan = Plan(output="mine.jsonl", quiet=True, iterations=7, cores=(0, 1), ranks=2)
    assert make_plan(plan_layer(plan)) == plan
    assert make_plan(plan_layer(plan), python_layer({"time": 2})).output == "mine.jsonl"


plans = st.fixed_dictionaries(
    {},
    optional={
        "transport": st.lists(st.sampled_from(list(TRANSPORTS)), min_size=1, unique=True),
        "sizes": st.lists(st.integers(0, 1 << 30), min_size=1, max_size=20),
        "wait": st.sampled_from(["block", "spin", "block,spin"]),
        "buffers": st.sampled_from(["same", "separate", "same,separate"]),
        "ci": st.one_of(st.just("none"), st.floats(0.001, 0.5)),
        "time": st.floats(1e-9, 1000),
        "repetitions": st.integers(1, 50),
        "ranks": st.integers(1, 8).map(lambda half: 2 * half),
        "cores": st.just("none"),
        "output": st.just("run.jsonl"),
    },
)


@given(plans)
def test_a_plan_can_be_made_again_from_its_record(keys):
    plan = make_plan(python_layer(keys))
    record = python_layer(plan_record(plan))
    assert make_plan(record) == msgspec.structs.replace(plan, output=None)
    assert make_plan(plan_layer(plan)) == plan


@given(plans)
def test_expansion_has_every_case_once(keys):
    plan = make_plan(python_layer(keys))
    waits = {"shm": ("spin",), "tcp": ("block", "spin")}
    cases = [case for together in expand(plan, 4, waits) for case in together]
    assert len(set(cases)) == len(cases)
    there = [name for name in plan.transport if name in waits]
    expected = len(there) * 2 * max(len(plan.wait), 1) * len(plan.buffers) * len(plan.sizes)
    assert len(cases) == expected
    assert {case.pair for case in cases} == ({(0, 2), (1, 3)} if cases else set())
    if not plan.wait:
        assert {case.wait for case in cases if case.transport == "tcp"} <= {"block"}


def test_a_plan_is_read_without_what_measuring_needs():
    """So that a mistake is said at once."""
    code = "import sys, halftrip.plan.plan; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
