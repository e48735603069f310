"""The plan of a run against an earlier one: what it has of that one, and what is refused."""

import re
import sys

import pytest

from halftrip.cli.run_against import Asked, plan_against
from halftrip.errors import UsageError
from halftrip.plan.layers import file_layer, make_plan, python_layer
from halftrip.plan.plan import plan_record, plan_text
from halftrip.plan.variants import plans_of_variants, variants
from halftrip.plan.vary import Against
from halftrip.results.reported import Source
from halftrip.results.run_file import encode
from harness import runs

SIDES = [(("side", "base"),), (("side", "new"),)]
# Any program that is there.
PROGRAM = sys.executable


def base_file(tmp_path, keys=None, *records):
    """A run file with a plan of these keys."""
    plan = make_plan(
        python_layer({"transport": "shm", "sizes": "8,64", "launches": 1} | (keys or {}))
    )
    path = tmp_path / "base.jsonl"
    every = (runs.planned(**plan_record(plan)), *records, runs.measurement())
    path.write_bytes(b"".join(map(encode, every)))
    return str(path)


def planned(file, options=None, plan_file=None, **base):
    return plan_against(Asked(file, **base), plan_file, options or {})


def test_without_a_difference_only_what_is_new_is_measured(tmp_path):
    plan = planned(base_file(tmp_path, {"time": 0.2, "launches": 2}))
    assert (plan.sizes, plan.transport, plan.time, plan.launches) == ((8, 64), ("shm",), 0.2, 2)
    assert plan.vary == ()
    assert plan.against.file == str(tmp_path / "base.jsonl")
    assert variants(plan) == [()]


def test_both_sides_have_five_rounds_in_the_time_of_the_base(tmp_path):
    plan = planned(base_file(tmp_path), env=["UCX_TLS=a=b", "X=unset"])
    assert (plan.launches, plan.time) == (5, pytest.approx(0.06))
    assert variants(plan) == SIDES
    base, new = plans_of_variants(plan)
    assert base.variables == {"UCX_TLS": "a=b", "X": None}
    assert new.variables == {}
    assert base.variant == SIDES[0]
    for keys, options, launches, time in (
        ({}, {"time": "10ms"}, 5, 0.01),
        ({}, {"launches": "2"}, 2, 0.3),
        ({"launches": 10}, {}, 10, 0.3),
        ({"launches": 2}, {}, 5, 0.12),
        ({"iterations": 100}, {}, 5, 0.3),
    ):
        plan = planned(base_file(tmp_path, keys), options, env=["X=1"])
        assert (plan.launches, plan.time) == (launches, pytest.approx(time))


@pytest.mark.parametrize(("dealt", "rounds"), [(10, 10), (2, 5)])
def test_sides_of_a_base_whose_slices_were_dealt_are_dealt_too(tmp_path, dealt, rounds):
    base = base_file(tmp_path, {"launches": dealt, "dealt": True})
    plan = planned(base, env=["X=1"])
    assert (plan.launches, plan.dealt, plan.time) == (rounds, True, 0.3)
    # Somebody who names a number has as many of full length.
    plan = planned(base, {"launches": "3"}, env=["X=1"])
    assert (plan.launches, plan.dealt, plan.time) == (3, False, 0.3)


def test_an_mpiexec_of_the_base_is_for_its_launches_alone(tmp_path):
    plan = planned(base_file(tmp_path, {"transport": "mpi"}), mpiexec=PROGRAM)
    assert [each.mpiexec for each in plans_of_variants(plan)] == [PROGRAM, None]
    plan = planned(base_file(tmp_path), {"mpiexec": "new"}, mpiexec=PROGRAM)
    assert [each.mpiexec for each in plans_of_variants(plan)] == [PROGRAM, "new"]


def test_what_the_base_varied_is_varied_on_both_sides_and_stays(tmp_path):
    file = base_file(tmp_path, {"vary": {"env.X": ["1", "2"], "mpiexec": ["a", "b"]}})
    plan = planned(file, env=["Y=1"])
    assert [dict(each)["side"] for each in variants(plan)].count("base") == 4
    assert len(variants(plan)) == 8
    with pytest.raises(UsageError, match=r"^--base-env: X: .*base.jsonl has varied it on its own"):
        planned(file, env=["X=1"])
    with pytest.raises(UsageError, match=r"^--base-mpiexec: .* has varied mpiexec on its own"):
        planned(file, mpiexec=PROGRAM)


def test_a_run_against_another_may_be_a_base_itself(tmp_path):
    record = plan_record(planned(base_file(tmp_path), env=["X=1"]))
    assert record["against"]["env"] == [["X", "1"]]
    path = tmp_path / "again.jsonl"
    path.write_bytes(encode(runs.planned(**record)))
    plan = planned(str(path))
    assert (plan.vary, plan.against) == ((), Against(file=str(path)))


def test_a_base_that_cannot_be_and_options_that_change_what_is_measured_are_refused(tmp_path):
    file = base_file(tmp_path)
    for options, said in (
        ({"sizes": "8"}, f"--sizes: --against measures what {file} has measured; leave it out"),
        ({"vary": ["env.X=1"]}, "--vary: --against measures what"),
        ({"max_launches": "1"}, "--max-launches: only --until-ci has such a limit"),
    ):
        with pytest.raises(UsageError, match=f"^{re.escape(said)}"):
            planned(file, options)
    # What says how long, and what is put out, does not change it.
    options = {"time": "1s", "output": "x", "quiet": True, "rtt": True, "ci": "2%"}
    plan = planned(file, options, env=["X=1"])
    assert (plan.time, plan.output, plan.rtt) == (1.0, "x", True)
    for base, said in (
        ({"env": ["X"]}, "--base-env: 'X' has no value; write NAME=VALUE"),
        ({"env": ["A B=1"]}, "--base-env: 'A B' is no name of an environment variable"),
        ({"env": ["X=1", "X=2"]}, "--base-env: X is there twice"),
        ({"env": ["HALFTRIP_JOB=1"]}, "--base-env: HALFTRIP_JOB: halftrip sets this variable"),
        ({"command": "no-such"}, "--base-command: 'no-such' is not a program that can be run"),
        ({"command": "'"}, '--base-command: "\'": no closing quotation'),
        ({"mpiexec": "no-such"}, "--base-mpiexec: 'no-such' is not a program that can be run"),
    ):
        with pytest.raises(UsageError, match=f"^{re.escape(said)}"):
            planned(base_file(tmp_path), **base)


def test_what_has_no_plan_that_can_be_made_again_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"^--base-env: only with --against, which names the run"):
        plan_against(Asked(env=["X=1"]), None, {})
    with pytest.raises(UsageError, match=r"^quick: --against measures what"):
        planned(base_file(tmp_path), plan_file="quick")
    source = Source(tool="osu", file="o", place=0, statistic="mean")
    with pytest.raises(UsageError, match=r"base.jsonl: what osu has measured cannot be measured"):
        planned(base_file(tmp_path, {}, source))
    with pytest.raises(UsageError, match=r"^--against: X: with --peer, halftrip serve starts"):
        planned(base_file(tmp_path, {"peer": "b", "transport": "tcp"}), env=["X=1"])
    path = tmp_path / "old.jsonl"
    path.write_bytes(encode(runs.planned(cases=3)))
    with pytest.raises(UsageError, match=r"old.jsonl: its plan: cases: no such key"):
        planned(str(path))


def test_a_side_is_no_axis_of_a_plan():
    for keys in (
        {"vary": {"side": ["base", "new"]}},
        {"against": {"file": "b", "env": [["X", "1"]]}},
    ):
        with pytest.raises(UsageError, match=r"'side' cannot be varied; allowed: env.NAME"):
            make_plan(python_layer(keys))
    with pytest.raises(UsageError, match="not what halftrip run --against records"):
        make_plan(python_layer({"against": {"mpiexec": 3}}))


def test_a_plan_for_another_installation_is_the_same_from_its_text(tmp_path):
    path = tmp_path / "plan.toml"
    for keys in (
        {"transport": "shm", "sizes": "8", "iterations": 7, "message_rate": True},
        {"transport": "tcp,udp", "sizes": "1..64", "ci": "none", "mpiexec": 'a "b" \\\'é\n\t#'},
        {
            "sizes": "8", "ci": 0.02, "cores": "0,1", "part": [{"sizes": "8", "verify": True}],
            "simulated": {"latency": "2us", "noise": {"kind": "lognormal", "spread": 0.1}},
        },
    ):  # fmt: skip
        plan = make_plan(python_layer(keys))
        path.write_text(plan_text(plan), encoding="utf-8")
        assert make_plan(file_layer(path)) == plan
    # An older halftrip need not know a key that says nothing.
    text = plan_text(make_plan(python_layer({"transport": "shm", "sizes": "8", "launches": 1})))
    always = 'pairs = "halves"\nslices = 20\nlaunches = 1\n'
    assert sorted(text.splitlines()) == sorted(
        ['transport = ["shm"]', 'sizes = "8"', *always.splitlines()]
    )
