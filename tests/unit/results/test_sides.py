"""The two sides of a run against an earlier one."""

import msgspec

from halftrip.results.counts import CountedSlice
from halftrip.results.records import Failure, Launch, LaunchFailure, Skip
from halftrip.results.reported import BASE, NEW, SIDE
from harness import runs


def measurement(launch, side, *more):
    return runs.measurement("shm", 8, launch=launch, variant=tuple(sorted(((SIDE, side), *more))))


def a_run(*measurements, **changes):
    run = runs.run(*measurements)
    header = msgspec.structs.replace(
        run.header, plan=run.header.plan | {"against": {"file": "base.jsonl", "mpiexec": "old"}}
    )
    launches = tuple(
        Launch(number=m.launch, round=m.launch // 2, variant=m.configuration.variant)
        for m in measurements
    )
    environments = tuple(runs.environment(0, launch=m.launch) for m in measurements)
    fields = {"header": header, "launches": launches, "environments": environments}
    return msgspec.structs.replace(run, **(fields | changes))


def test_each_side_is_a_run_of_the_same_configurations():
    """What else is varied stays."""
    other = ("env.X", "1")
    run = a_run(*(measurement(n, s, other) for n, s in enumerate((BASE, NEW, NEW, BASE))))
    base, new, rounds, against = run.sides
    assert base.by_configuration.keys() == new.by_configuration.keys()
    for side in (base, new):
        assert side.variant_of.popitem()[1] == (other,)
        assert [c.variant for c in side.by_configuration] == [(other,)]
    assert [m.launch for m in base.measurements] == [0, 3]
    assert [m.launch for m in new.measurements] == [1, 2]
    assert [e.launch for e in new.environments] == [1, 2]
    assert rounds == {0: 0, 1: 0, 2: 1, 3: 1}
    assert against == {"file": "base.jsonl", "mpiexec": "old"}
    assert run.base_file == "base.jsonl"


def test_failures_and_skips_are_of_their_side():
    both = [measurement(0, BASE), measurement(1, NEW)]
    failure = Failure(configuration=both[1].configuration, slice=0, reason="no", launch=1)
    of_base = ((SIDE, BASE),)
    run = a_run(
        *both,
        failures=(failure,),
        launch_failures=(LaunchFailure(launch=0, variant=of_base, reason="gone"),),
        skips=(Skip(transport="mpi", reason="no", variant=of_base),),
    )
    base, new = run.sides[:2]
    assert (base.failures, len(new.failures)) == ((), 1)
    assert (len(base.launch_failures), new.launch_failures) == (1, ())
    assert (len(base.skips), new.skips) == (1, ())


def test_another_run_has_no_sides():
    run = runs.run(runs.measurement())
    assert (run.sides, run.base_file) == (None, None)
    # A plan may be anything: anybody may have written the file.
    assert runs.run(header=runs.planned(against=3)).base_file is None


def test_what_was_counted_is_of_its_side():
    both = [measurement(0, BASE), measurement(1, NEW)]
    counted = tuple(
        CountedSlice(configuration=m.configuration, slice=0, launch=m.launch, ends=(None, None))
        for m in both
    )
    base, new = a_run(*both, counted_slices=counted).sides[:2]
    for side, launch in ((base, 0), (new, 1)):
        assert [each.launch for each in side.counted_slices] == [launch]
        assert side.counted_slices[0].configuration in side.by_configuration
