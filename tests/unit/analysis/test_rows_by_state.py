"""Rows in the states of the machine, and runs that are compared state by state."""

import re

import msgspec
import pytest

from halftrip.analysis.compared_run import ComparedRun, sides_of
from halftrip.analysis.comparison import compare
from halftrip.analysis.history import history
from halftrip.analysis.rows import in_every_state, rows
from halftrip.analysis.run_figures import run_figures
from halftrip.analysis.states import run_states
from halftrip.report.document import document
from halftrip.results.block import RoundTrips
from halftrip.results.counts import Delivery
from halftrip.results.records import Launch
from halftrip.stats.levels import Held
from halftrip.views.layers import added, layers
from harness import runs
from harness.files import module
from harness.histories import dated
from harness.moving import FAR, NEAR, moving
from harness.screens import text_of

truth = module("benchmarks/truth.py")


def by_transport(run):
    return {row.configuration.transport: row for row in rows(run)}


def test_a_row_that_goes_with_the_state_has_a_figure_for_each_others_have_one():
    found = by_transport(moving(seed=2))
    shm = found["shm"]
    (far,) = shm.others
    assert (shm.state.word, far.state.word) == ("near", "far")
    assert shm.summary.low <= 20 + 0.5 * NEAR <= shm.summary.high
    assert far.summary.low <= 20 + 0.5 * FAR <= far.summary.high
    assert shm.state.value == pytest.approx(NEAR, rel=0.02)
    assert shm.slices + far.slices == 20
    assert {row.verdict.word for row in (shm, far)} <= {"ok", "caution"}
    tcp = by_transport(moving())["tcp"]
    assert (tcp.state, tcp.others, tcp.slices) == (None, (), 20)
    # The state that held most is shown.
    shm = by_transport(moving(share=0.7))["shm"]
    assert [row.state.word for row in in_every_state([shm])] == ["far", "near"]


def test_flags_that_the_state_explains_are_gone():
    run = moving(slices=4)
    for row in in_every_state(rows(run)):
        assert not {"bimodal", "drift"} & {flag.name for flag in row.flags}
        cause = row.verdict.cause
        assert cause is None or cause.name != "cores moved"
    # What nobody probed is mixed.
    blind = msgspec.structs.replace(
        run,
        measurements=tuple(
            msgspec.structs.replace(
                each,
                blocks=[
                    msgspec.structs.replace(block, core_to_core_rtt=None) for block in each.blocks
                ],
            )
            for each in run.measurements
        ),
    )
    (shm, _) = rows(blind)
    assert shm.state is None
    assert "bimodal" in {flag.name for flag in shm.flags}


def test_slices_in_which_the_state_changed_count_for_none():
    run = moving()
    first = run.measurements[0]
    run = msgspec.structs.replace(run, measurements=(changed(first), *run.measurements[1:]))
    (host,) = run_states(run).hosts
    assert host.held(changed(first)) == Held(None, changed=True)
    shm = by_transport(run)["shm"]
    assert shm.slices + shm.others[0].slices == 19


def test_a_state_in_one_launch_of_several_tells_nothing_of_others():
    """Launches differ, so that one alone may be slower for another reason."""
    near = [m for m in moving(share=0.0).measurements if m.launch != 0]
    far = [m for m in moving(2, share=1.0, slices=6).measurements if m.launch == 0]
    run = runs.run(*far, *near)
    assert len(run_states(run).hosts[0].levels) == 2
    (shm, _) = rows(run)
    assert (shm.state, shm.others) == (None, ())


def test_a_single_launch_has_intervals_over_slices_and_a_machine_of_one_state_none():
    shm = by_transport(moving(launches=1, slices=20))["shm"]
    assert (shm.launches, shm.state.word) == (1, "near")
    assert shm.summary.low <= 20 + 0.5 * NEAR <= shm.summary.high
    assert shm.others[0].state.word == "far"
    run = moving(share=0.0)
    (host,) = run_states(run).hosts
    assert (host.states, len(host.levels)) == ([], 1)
    assert all(row.state is None for row in rows(run))


def test_rows_of_another_host_have_its_states():
    run = moving()
    ranks = tuple(
        msgspec.structs.replace(runs.environment(rank), host="a" if rank < 2 else "b")
        for rank in range(4)
    )
    calm = [
        runs.with_settings(each, pair=(2, 3))
        for each in moving(share=0.0, near=150.0, seed=3).measurements
    ]
    both = msgspec.structs.replace(run, environments=ranks, measurements=(*run.measurements, *calm))
    states = run_states(both)
    assert {each.host: len(each.levels) for each in states.hosts} == {"a": 2, "b": 1}
    assert states.of(calm[0].configuration).host == "b"


def with_delivery(measurement, lost, **changes):
    """The same slice of 100 datagrams, of which so many were lost; `changes` are of its block."""
    delivery = Delivery(sent=100, lost=lost, reordered=0)
    (block,) = measurement.blocks
    block = msgspec.structs.replace(block, delivery=delivery, **changes)
    return msgspec.structs.replace(measurement, blocks=[block])


def test_datagrams_of_slices_in_no_state_are_counted_as_lost():
    """One in which the state changed, and one of which nothing arrived."""
    run = moving()
    shm = [each for each in run.measurements if each.configuration.transport == "shm"]
    made = [with_delivery(each, 0) for each in shm]
    made[0] = with_delivery(changed(made[0]), 30)
    made[1] = with_delivery(made[1], 100, times=runs.times(), core_to_core_rtt=None)
    near, far = in_every_state(rows(runs.run(*made)))
    assert (near.delivery.lost, far.delivery.lost) == (130, 130)
    assert near.delivery.sent + far.delivery.sent == 100 * len(shm) + 200


def shm_of(run, **fields):
    """The rows of shm, with other settings."""
    return [
        runs.with_settings(each, **fields)
        for each in run.measurements
        if each.configuration.transport == "shm"
    ]


def test_rows_in_other_states_contradict_nothing():
    """One size of five was far all the time, and so was its stream."""
    sizes = (8, 16, 32, 64, 128)
    made = [
        shm_of(moving(size, share=float(size == 32)), size=size, **fields)
        for size in sizes
        for fields in ({}, {"pattern": "stream", "window": 4, "mode": "nonblocking"})
        if size == 32 or not fields
    ]
    both = shm_of(moving(7, share=0.5), size=256)
    run = runs.run(*(each for found in [*made, both] for each in found))
    found = {row.configuration: row for row in rows(run)}
    assert {row.state.word for row in found.values()} == {"near", "far"}
    flags = {flag.name for row in found.values() for flag in row.flags}
    assert not {"outlier-size", "contradiction"} & flags


def test_a_size_that_does_not_fit_is_found_within_a_state():
    made = [
        shm_of(moving(size, share=0.5, factor=3.0 if size == 32 else 1.0), size=size)
        for size in (8, 16, 32, 64, 128)
    ]
    run = runs.run(*(each for found in made for each in found))
    found = {row.configuration.size: row for row in rows(run)}
    assert found[32].state is not None
    odd = {"outlier-size", "contradiction"}
    assert [s for s, row in found.items() if odd & {flag.name for flag in row.flags}] == [32]


def test_a_layer_is_compared_with_the_one_below_in_the_same_state():
    """Almost all launches of the upper one were far."""
    upper = [
        each
        for launch in range(10)
        for each in shm_of(moving(20 + launch, share=float(launch > 0)), transport="shm-ring")
        if each.launch == launch
    ]
    found = added(document(runs.run(*shm_of(moving(1, share=0.5)), *upper), flags=False))
    (one,) = found
    assert (one.state, one.lower.state.word) == ("far", "far")
    assert not one.cost.is_apart_from(0.0)
    # Without a common state nothing is said.
    near = runs.run(
        *shm_of(moving(1, share=0.0)), *shm_of(moving(2, share=1.0), transport="shm-ring")
    )
    assert added(document(near, flags=False)) == []
    assert "were measured in different states" in text_of(layers(document(near)), 100)


# Two runs.


def compared(base, new):
    (found,) = compare(ComparedRun.of(base, "a"), [ComparedRun.of(new, "b")])
    return found


def test_like_is_compared_with_like():
    same = compared(moving(1), moving(2, share=0.55))
    words = [(row.configuration.transport, row.state) for row in same.rows]
    assert sorted(words) == [("shm", "far"), ("shm", "near"), ("tcp", "")]
    assert not same.having("slower")
    assert not same.having("faster")
    slower = compared(moving(1), moving(2, share=0.55, factor=1.2))
    assert [row.word for row in slower.rows] == ["slower"] * 3
    for row in slower.rows:
        assert row.difference.ratio == pytest.approx(1.2, rel=0.05)


def test_a_run_of_one_state_is_compared_with_that_of_another_unless_there_is_none():
    found = compared(moving(1), moving(2, share=0.0, factor=1.2))
    assert {(row.configuration.transport, row.state) for row in found.rows} == {
        ("shm", "near"),
        ("tcp", ""),
    }
    assert [row.word for row in found.rows] == ["slower", "slower"]
    found = compared(moving(1, share=0.0), moving(2, share=1.0))
    assert [row.word for row in found.rows] == ["cannot tell"] * 2
    assert {row.reason for row in found.rows} == {"cores were at 92 ns, now at 278"}
    assert all(row.launches is None for row in found.rows)


def joined(near, far, launches):
    """The first launches of one run, and the later ones of another."""
    first = [each for each in near.measurements if each.launch < launches]
    return runs.run(*first, *(each for each in far.measurements if each.launch >= launches))


@pytest.mark.parametrize(
    ("seen", "word", "reason"),
    [(2, "cannot tell", "new was near in 2 launches of 10"), (4, "slower", "")],
)
def test_what_one_run_hardly_saw_cannot_be_told(seen, word, reason):
    """Neither in a state that a row goes with, nor of a row that seems to go with none."""
    near = moving(1, share=0.0)
    later = joined(moving(2, share=0.0, factor=1.2), moving(3, share=1.0, factor=1.2), seen)
    rows = {row.configuration.transport: row for row in compared(near, later).rows}
    shm, tcp = rows["shm"], rows["tcp"]
    assert (shm.state, shm.word, shm.reason) == ("near", word, reason)
    assert (tcp.word, tcp.reason) == ("cannot tell", reason or "cores were at 92 ns, now at 278")


def changed(measurement):
    """The same slice, in which the state changed."""
    (block,) = measurement.blocks
    moved = msgspec.structs.replace(block, core_to_core_rtt=RoundTrips(FAR, NEAR))
    return msgspec.structs.replace(measurement, blocks=[moved])


def test_pairs_of_cores_that_differ_have_a_level_each():
    """A host whose pairs always differ has one level; a row is at that of its own readings."""

    def of_pairs(first, second):
        near, far = moving(1, share=0.0, near=first), moving(2, share=0.0, near=second)
        ranks = tuple(map(runs.environment, range(4)))
        others = [runs.with_settings(each, pair=(2, 3)) for each in far.measurements]
        return runs.run(*near.measurements, *others, environments=ranks)

    found = compared(of_pairs(92.0, 160.0), of_pairs(160.0, 92.0))
    far = "1(59|60)"
    said = re.compile(f"cores were at (92 ns, now at {far}|{far} ns, now at 92)")
    assert len(found.rows) == 4
    assert all(said.fullmatch(row.reason) for row in found.rows)


def hardly_near(seed, near):
    """A run whose shm was far but for so many launches, or, with none, for a slice in which the
    state changed; whose tcp has seen both."""
    shm = [
        measurement
        for launch in range(10)
        for measurement in moving(100 * seed + launch, share=float(launch >= near)).measurements
        if measurement.launch == launch and measurement.configuration.transport == "shm"
    ]
    if not near:
        shm[0] = changed(shm[0])
    both = moving(seed, share=0.6).measurements
    return runs.run(*shm, *(each for each in both if each.configuration.transport == "tcp"))


@pytest.mark.parametrize("near", [0, 1])
def test_a_run_that_hardly_saw_one_state_calls_a_move_of_the_cores_no_change(near):
    found = compared(moving(1, share=0.0), hardly_near(2, near))
    assert {row.word for row in found.rows if row.configuration.transport == "shm"} == {
        "cannot tell"
    }
    past = [moving(number + 1, share=0.0) for number in range(4)]
    past += [hardly_near(number, near) for number in range(4, 8)]
    figures = (run_figures(str(n), dated(run, n)) for n, run in enumerate(past))
    assert history(figures).events == []


def test_no_number_of_launches_is_asked_for_where_one_run_hardly_saw_the_state():
    found = compared(moving(1, share=0.5), hardly_near(2, 1))
    near, far = (next(row for row in found.rows if row.state == word) for word in ("near", "far"))
    assert (near.word, near.launches) == ("cannot tell", None)
    assert near.reason == "new was near in 1 launch of 10"
    assert far.reason == "" or far.launches is not None


def test_the_sides_of_a_run_have_the_states_of_all_of_it():
    """Few slices of one side do not show what the whole run does."""
    base, new = moving(1, launches=5), moving(2, launches=5, share=0.0)
    measured, begun = [], []
    for side, found in (("base", base), ("new", new)):
        variant = (("side", side),)
        for each in found.measurements:
            varied = runs.with_settings(each, variant=variant)
            launch = 2 * each.launch + (side == "new")
            measured.append(msgspec.structs.replace(varied, launch=launch))
        begun += [
            Launch(number=2 * n + (side == "new"), round=n, variant=variant) for n in range(5)
        ]
    sides = sides_of(runs.run(*measured, launches=tuple(begun)))
    assert [len(each.states.hosts[0].levels) for each in sides] == [2, 2]
    (found,) = compare(sides[0], sides[1:])
    assert {row.state for row in found.rows} == {"near"}


# Many runs.


def figures_of(number, **options):
    return run_figures(str(number), dated(moving(number + 1, launches=6, **options), number))


def test_a_change_in_a_state_is_found_beside_runs_that_do_not_know_it():
    found = history(figures_of(number, factor=1.3 if number >= 8 else 1.0) for number in range(16))
    (event,) = found.events
    assert event.direction == "slower"
    changed = [found.rows[place] for place, _ in event.rows]
    assert {row.configuration.transport for row in changed} == {"shm", "tcp"}
    assert sum(row.quantity is not None for row in changed) == 2
    # A row that does not go with the state is one row.
    assert [row.quantity for row in found.rows if row.configuration.transport == "tcp"] == [None]
    # Runs that do not know the round trip hide no state.
    made = [figures_of(number) for number in range(8)]
    blind = made[0]._replace(levels={}, core_to_core_rtt=float("nan"))
    assert any(row.quantity is not None for row in history([blind, *made[1:]]).rows)


def test_a_run_has_one_figure_in_a_history_of_a_state_and_none_is_lost():
    """Of two levels that are one state of all runs, that which held most; what no level is known of
    has a row of its own."""
    first = figures_of(0)
    (shm,) = [each for each in first.levels if each.transport == "shm"]
    near, far = first.levels[shm]
    beside = near._replace(level=1.1 * near.level, figure=far.figure)
    two = first._replace(levels={shm: [near, beside]})
    blind = figures_of(1)._replace(levels={}, goes={})
    found = history([two, figures_of(2), blind])
    of_row = [row for row in found.rows if row.configuration.transport == "shm"]
    (of_near,) = [row for row in of_row if row.level is not None and row.level < 100]
    assert of_near.figures[0] == near.figure
    assert sorted(number for row in of_row for number in row.figures) == [0, 1, 2, 2]


# Known truths.


@pytest.mark.parametrize(
    "claim", truth.GROUPS["states"]()[::7], ids=lambda claim: f"{claim.what}, {claim.path}"
)
def test_claims_of_states_in_a_few_runs(claim):
    """Of eight rows or so, the intervals of three may be wrong by chance."""
    score = truth.total([claim.trial(seed) for seed in (1, 2)])
    assert score.of == 0 or truth.kept(claim, score), f"{score}: {truth.interval(score)}"
