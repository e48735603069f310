"""What is varied: how axes are read, their combinations, their order, and what is refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.errors import UsageError
from halftrip.plan.configurations import PartPlans, settings
from halftrip.plan.layers import make_plan, options_layer, plan_layer, python_layer
from halftrip.plan.plan import Plan, plan_record
from halftrip.plan.variants import in_order, plan_of, plans_of_variants, variants
from halftrip.plan.vary import UNSET, axes

BTL = ("env.OMPI_MCA_btl", ("self,sm", "self,tcp"))
MPIEXECS = ("mpiexec", ("mpiexec.openmpi", "mpiexec.mpich"))
# A text that stays as it is between semicolons.
VALUES = st.text(st.characters(codec="utf-8", exclude_characters=";\0"), min_size=1).map(str.strip)


@pytest.mark.parametrize(
    "given",
    [
        ["env.OMPI_MCA_btl=self,sm;self,tcp", "mpiexec=mpiexec.openmpi,mpiexec.mpich"],
        [
            "env.OMPI_MCA_btl = self,sm; self,tcp ;",
            "mpiexec=mpiexec.openmpi",
            "mpiexec=mpiexec.mpich",
        ],
        {"env.OMPI_MCA_btl": ["self,sm", "self,tcp"], "mpiexec": "mpiexec.openmpi,mpiexec.mpich"},
        {"env": {"OMPI_MCA_btl": ["self,sm", "self,tcp"]}, "mpiexec": list(MPIEXECS[1])},
        (BTL, MPIEXECS),
    ],
)  # fmt: skip
def test_axes_are_read_from_options_and_tables(given):
    assert axes(given) == (BTL, MPIEXECS)


@given(
    st.dictionaries(
        st.from_regex(r"env\.[A-Z_]{1,8}", fullmatch=True) | st.sampled_from(["interface", "ssh"]),
        st.lists(VALUES.filter(bool), min_size=1, max_size=3, unique=True),
        max_size=3,
    )
)
def test_a_plan_is_made_again_from_its_record(vary):
    plan = make_plan(python_layer({"vary": vary, "hosts": "a,b"}))
    assert make_plan(python_layer(plan_record(plan))).vary == plan.vary
    assert make_plan(plan_layer(plan)) == plan


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("mpiexc=a", "'mpiexc' cannot be varied; did you mean mpiexec?"),
        ("transport=tcp", "'transport' cannot be varied; allowed: env.NAME, mpiexec, launcher"),
        ("env.=a", "'' is no name of an environment variable"),
        ("env.HALFTRIP_JOB=a", "HALFTRIP_JOB: halftrip sets this variable itself"),
        ("env.A", "'env.A' has no value; write NAME=VALUE,VALUE"),
        ("env.A=x,,y", "env.A: a value is empty; unset is without the variable"),
        ("mpiexec=;", "mpiexec: a value is empty"),
        ("launcher=locl", "launcher: 'locl' is not known"),
        ("cores=0,1", "cores: 1 core for 2 ranks; name 2, one for each, as 0,1; several such"),
        ("dragon=a,b", "dragon: nothing here needs Dragon"),
        (f"env.A={','.join(map(str, range(101)))}", "env.A: 101 values are too many; at most 100"),
    ],
)
def test_what_cannot_be_varied_is_refused_with_what_can(option, said):
    with pytest.raises(UsageError, match=f"^--vary: {re.escape(said)}"):
        make_plan(options_layer({"vary": [option]}))


def test_too_many_combinations_are_refused_and_the_environment_of_a_peer():
    many = {f"env.{name}": [str(n) for n in range(11)] for name in "ABC"}
    with pytest.raises(UsageError, match=r"^vary: 1331 combinations are too many; at most 1000"):
        make_plan(python_layer({"vary": many}))
    with pytest.raises(UsageError, match=r"^--vary: env.A: with --peer, halftrip serve starts"):
        make_plan(options_layer({"vary": ["env.A=x"], "peer": "b"}))


def test_a_key_beside_its_axis_is_refused_and_a_weaker_one_replaced(tmp_path):
    vary = {"vary": ["mpiexec=a,b"]}
    with pytest.raises(UsageError, match=r"^--mpiexec: --vary has it, too; leave out one of them"):
        make_plan(options_layer({"mpiexec": "c", **vary}))
    with pytest.raises(UsageError, match=r"^--mpiexec: vary has it, too"):
        make_plan(python_layer(vary), options_layer({"mpiexec": "c"}))
    plan = make_plan(python_layer({"mpiexec": "c"}), options_layer(vary))
    assert plan.mpiexec is None


def test_every_combination_is_a_plan_of_its_own():
    plan = Plan(vary=(("mpiexec", ("a", "b")), ("env.X", ("1", UNSET))))
    assert variants(plan) == [
        (("env.X", x), ("mpiexec", mpiexec)) for mpiexec in "ab" for x in ("1", UNSET)
    ]
    plans = plans_of_variants(plan)
    assert [each.mpiexec for each in plans] == ["a", "a", "b", "b"]
    assert [each.variables for each in plans] == [{"X": "1"}, {"X": None}] * 2
    assert [each.variant for each in plans] == variants(plan)
    assert variants(Plan()) == [()]
    assert plans_of_variants(Plan()) == [Plan()]


def test_cores_say_how_many_ranks_a_combination_has():
    plan = make_plan(python_layer({"vary": {"cores": ["0,1", [0, 1, 2, 3], "none"]}}))
    plans = plans_of_variants(plan)
    assert [each.cores for each in plans] == [(0, 1), (0, 1, 2, 3), "none"]
    assert [each.ranks for each in plans] == [2, 4, None]


def test_configurations_have_what_their_launch_has_and_the_plan_of_their_part():
    parts = [{"sizes": "8", "iterations": 3}, {"sizes": "64"}]
    vary = {"env.X": ["1", "2"]}
    plan = make_plan(python_layer({"transport": "shm", "part": parts, "vary": vary}))
    choices = {"shm": {"wait": ("spin",)}}
    plans = PartPlans(plan, choices)
    found = [each for v in variants(plan) for each in settings(plan_of(plan, v), choices)]
    assert [(each.variant, each.size, plans.of(each).iterations) for each in found] == [
        ((("env.X", value),), *point) for value in "12" for point in ((8, 3), (64, None))
    ]
    assert len({each.curve for each in found}) == 2
    assert found[0].title == "shm pingpong 8 B 1"


@given(st.integers(1, 6), st.integers(0, 1000))
def test_a_round_has_every_variant_once_always_in_the_same_order(count, number):
    found = variants(Plan(vary=(("env.X", tuple(map(str, range(count)))),)))
    order = in_order(found, number)
    assert sorted(order) == sorted(found)
    assert in_order(found, number) == order


def test_rounds_have_different_orders():
    """In a fixed order, the second would always be measured on a warmer machine."""
    found = variants(Plan(vary=(("env.X", ("a", "b")),)))
    firsts = [in_order(found, number)[0] for number in range(40)]
    assert all(10 <= firsts.count(each) <= 30 for each in found)
