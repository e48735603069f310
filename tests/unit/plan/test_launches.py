"""To how many launches the slices of a run are dealt, and what each of them has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.errors import UsageError
from halftrip.measure.batch import stopping
from halftrip.plan.launches import FEWEST_DEALT, MOST_DEALT, deal, plan_of_launch, undealt
from halftrip.plan.layers import make_plan, python_layer
from halftrip.plan.plan import Plan, plan_record
from halftrip.plan.slices import planned_slices


def made(**keys):
    return make_plan(python_layer({"transport": "shm", "sizes": "8"} | keys))


def dealt(**keys):
    plan = made(**keys)
    return plan.launches, plan.dealt


def test_a_run_has_ten_launches_of_two_slices():
    for keys in ({}, {"transport": "shm"}, {"transport": "mpi,tcp"}, {"preset": "standard"}):
        plan = make_plan(python_layer(keys))
        assert (plan.launches, plan.dealt, plan.slices, plan.time) == (10, True, 20, 0.1)
        of_launch = plan_of_launch(plan)
        assert (of_launch.slices, of_launch.time) == (2, pytest.approx(plan.time / 10))


def test_the_sizes_of_a_sweep_share_their_time():
    """Few slices each, of one launch; who says how long anything takes has that."""

    def found(**keys):
        plan = made(**keys)
        return plan.slices, plan.time, plan.ci

    sweep = {"sizes": "4..4000+4"}
    assert dealt(**sweep) == (1, False)
    assert found(**sweep) == (3, pytest.approx(0.006), 0.01)
    for keys in ({"time": "0.1"}, {"slices": "20"}, {"ci": "1%"}, {"preset": "paper"}):
        assert found(**sweep, **keys) == found(**keys)
    assert found(sizes="4..800+4") == found()


@given(
    st.integers(1, 500), st.floats(1e-3, 100), st.integers(1, 500),
    st.none() | st.floats(0.1, 1000), st.sampled_from(["shm", "mpi", "udp,tcp"]),
)  # fmt: skip
def test_all_launches_together_have_the_slices_and_the_time(slices, seconds, rows, limit, names):
    sizes = tuple(range(1, rows + 1))
    transport = tuple(names.split(","))
    plan = deal(Plan(transport=transport, sizes=sizes, slices=slices, time=seconds,
                     max_duration=limit))  # fmt: skip
    assert 1 <= plan.launches <= MOST_DEALT
    assert plan.dealt == (plan.launches > 1)
    each = plan_of_launch(plan)
    assert each.time * plan.launches == pytest.approx(seconds)
    if plan.dealt:
        assert plan.launches >= FEWEST_DEALT
        assert each.slices >= 2
        # None of which is shorter than a slice may be.
        assert planned_slices(each) >= 2
        assert slices <= each.slices * plan.launches <= slices + plan.launches * 2
    assert undealt(plan) == Plan(
        transport=transport, sizes=sizes, slices=slices, time=seconds, max_duration=limit
    )
    # With more time there are no fewer.
    longer = deal(Plan(transport=transport, sizes=sizes, slices=slices, time=2 * seconds,
                       max_duration=None if limit is None else 2 * limit))  # fmt: skip
    assert longer.launches >= plan.launches


def test_a_short_run_has_fewer_launches():
    assert dealt(time="1ms") == (1, False)
    # So many slices would be half a millisecond long.
    assert dealt(time="5ms", transport="shm,tcp", sizes="1..4M") == (1, False)
    assert 1 < dealt(time="50ms")[0] < 10
    assert make_plan(python_layer({"preset": "quick"})).launches < 10
    assert (made(launches=1).time, made(launches=4).time, made(time=0.2).time) == (0.3, 0.3, 0.2)
    assert make_plan(python_layer({"max_duration": "5s"})).launches < 3
    assert dealt(max_duration="5s")[0] == 10
    # To start MPI takes longer, and so does what is recorded around each launch.
    assert dealt(transport="mpi")[0] < 10
    assert dealt(system_log=True)[0] < 10
    few = made(slices=10)
    assert (few.launches, planned_slices(plan_of_launch(few))) == (5, 2)
    # Two or three tell less than the slices of one.
    assert dealt(slices=6) == dealt(slices=2) == dealt(slices=1) == (1, False)


@pytest.mark.parametrize(
    "keys",
    [
        {"launches": 1},
        {"launches": 7},
        {"until_ci": True},
        {"iterations": 1000},
        {"part": [{"sizes": "8", "iterations": 3}]},
        {"refine": True},
        {"placement_state": "near"},
        {"hosts": "a,b", "transport": "tcp"},
        {"peer": "a", "transport": "tcp"},
        {"launcher": "dragon"},
        {"transport": "shm,dragon"},
        {"transport": "simulated"},
        {"memory": "host:cuda"},
        {"vary": {"interface": ["lo", "eth0"]}},
        {"mpiexec": "mpiexec --host a,b", "transport": "mpi"},
        {"mpiexec": "mpiexec -hosts=a,b", "transport": "mpi"},
        {"vary": {"mpiexec": ["mpiexec", "mpirun -machinefile nodes"]}},
    ],
)
def test_what_is_not_dealt(keys):
    plan = made(**keys)
    assert (plan.launches, plan.dealt) == (keys.get("launches", 1), False)
    assert plan_of_launch(plan) == plan


def test_ranks_that_are_started_once_have_the_time_of_one_launch():
    for keys in ({}, {"transport": "mpi"}):
        plan = make_plan(python_layer(keys), in_job=True)
        assert (plan.launches, plan.dealt, plan.time) == (1, False, 0.3)
    # As much as in all launches, if somebody has said how long.
    plan = make_plan(python_layer({"time": "0.15s"}), in_job=True)
    assert (plan.time, undealt(make_plan(python_layer({"time": "0.15s"})))) == (0.15, plan)


def test_what_is_dealt_to_rounds_and_what_rows_keep_is_that_of_all_launches():
    # Where they are dealt, four times as many slices of what the first screen shows.
    for keys, slices in (({}, 80), ({"launches": 3}, 20), ({"slices": 40}, 160)):
        assert stopping(plan_of_launch(made(**keys))).slices == slices
    assert dealt(vary={"env.X": ["a", "b"]}) == (10, True)
    limited = {"max_duration": "4s", "sizes": "1..1K"}
    assert dealt(vary={"env.X": ["a", "b"]}, **limited)[0] < dealt(**limited)[0]


def test_a_record_is_that_of_the_same_launches_and_a_number_by_hand_wins():
    record = plan_record(made(slices=40))
    again = make_plan(python_layer(record))
    assert (again.launches, again.dealt, again.slices) == (10, True, 40)
    by_hand = make_plan(python_layer(record), python_layer({"launches": 3}))
    assert (by_hand.launches, by_hand.dealt) == (3, False)
    assert made(launches=4, dealt=True).dealt
    with pytest.raises(UsageError, match="dealt"):
        made(dealt="perhaps")
