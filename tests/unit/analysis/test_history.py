"""The history of rows over several runs, and what differs between their environments."""

import math

import msgspec
import pytest

from halftrip.analysis.doubts import Doubt, doubt_at
from halftrip.analysis.doubts import changes as told
from halftrip.analysis.environments import Change, changes
from halftrip.analysis.history import CORE_TO_CORE, history
from halftrip.analysis.run_figures import run_figures
from halftrip.mpi.launcher import Mpiexec, quick_start
from halftrip.results.network_path import Connection, Interface, NetworkPath
from halftrip.results.records import ClockInfo
from harness import runs
from harness.histories import KERNELS, contended, dated, figures, weekly
from harness.imports import imported_run
from harness.moving import moving
from harness.runs import device, environment, run


@pytest.fixture(scope="module")
def changed():
    """Twenty runs, two of whose rows take a tenth longer from the twelfth on."""
    return figures(weekly(20, step_at=12))


def test_what_changed_when_by_how_much_and_with_what(changed):
    found = history(changed)
    (event,) = found.events
    assert (event.direction, event.first, len(event.rows)) == ("slower", 12, 2)
    assert event.before < 12 <= event.high
    assert event.environment == [Change("kernel", *KERNELS)]
    for row in found.changed:
        (change,) = row.changes
        assert row.configuration.transport == "mpi"
        assert change.low <= 12 <= change.high
        assert change.difference.low <= 1.1 <= change.difference.high
    # A row counts in the runs that have it.
    without = history(
        each._replace(figures={}) if n in {3, 13} else each for n, each in enumerate(changed)
    )
    (event,) = without.events
    assert (event.before, event.first) == (11, 12)
    assert 3 not in without.rows[0].figures


def test_nothing_is_found_where_nothing_changed():
    found = history(figures(weekly(20)))
    assert found.events == []
    assert all(1.03 < row.detectable < 1.2 for row in found.rows)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_too_few_runs_have_no_changes_and_samples_are_not_kept(count):
    found = history(figures(weekly(count, step_at=2, factor=3.0)))
    assert len(found.runs) == count
    assert not found.events
    assert all(row.detectable is None for row in found.rows)
    for each in found.runs:
        assert not each.run.measurements
        assert each.run.environments


@pytest.mark.parametrize(("pattern", "bandwidth"), [("stream", 1e9), ("bidirectional", 2e9)])
def test_bandwidth_is_that_of_both_directions_with_its_interval(pattern, bandwidth):
    slices = runs.slices("tcp", 1000, levels=[500.0] * 6, pattern=pattern)
    (alone,) = run_figures("a", runs.run(slices[0])).figures.values()
    assert math.isnan(alone.low)
    (figure,) = run_figures("a", runs.run(*slices)).figures.values()
    assert figure.value == pytest.approx(bandwidth, rel=0.02)
    assert figure.low < figure.value < figure.high
    # Of empty messages, the time counts.
    empty = runs.measurement("tcp", 0, pattern=pattern, window=4)
    (figure,) = run_figures("a", runs.run(empty)).figures.values()
    assert 0 < figure.value < math.inf


def each_of_16(make):
    """The history of runs of what `make` makes of a number and of whether it is after a change."""
    return history(figures(make(number, number >= 8) for number in range(16)))


def test_another_core_to_core_round_trip_is_named():
    def run(number, far):
        made = runs.measurement(half_ns=150.0 if far else 100.0, rtts=(122.0,) if far else (100.0,))
        return dated(runs.run(made), number)

    (event,) = each_of_16(run).events
    assert event.environment == [Change(CORE_TO_CORE, "100 ns", "122 ns")]


def test_a_row_in_a_state_is_doubted_by_its_slices_in_that():
    near, far = Doubt("ok", None, 0.0, 90.0), Doubt("no", "steal", 0.2, 280.0)
    assert doubt_at([near, far], 95.0) == near
    assert doubt_at([near, far], 300.0) == far
    assert doubt_at([near, far], math.nan) == far
    assert doubt_at([], 90.0) is None
    one = history(figures([dated(moving(launches=10), number) for number in range(2)]))
    for row in one.rows:
        found = [one.runs[0].doubts[row.configuration], one.doubt(row, 0)]
        assert (row.quantity is None) == (len(found[0]) == 1)
        if row.quantity is not None:
            assert found[1].level == pytest.approx(row.level, rel=0.1)


def test_only_what_most_rows_of_a_level_have_is_a_fact():
    once = [contended(number, since=8 if number in (3, 9) else 99) for number in range(16)]
    assert not history(figures(once)).events
    ok, other = Doubt("ok", None, 0.05), Doubt("no", "steal", 0.14)
    assert told([ok] * 3, [ok, other]) == told([], [other]) == told([ok], []) == []
    assert told([ok, other, ok], [ok, other, other]) == [Change("cause", "none", "steal")]
    unknown = ok._replace(others=math.nan)
    assert told([unknown], [ok._replace(others=0.9)]) == []


def test_what_differs_between_most_runs_explains_nothing():
    def run(number, slow):
        made = runs.measurement(half_ns=150.0 if slow else 100.0, seed=number)
        ranks = tuple(runs.environment(rank, host=f"pod-{number}") for rank in (0, 1))
        return dated(runs.run(made, environments=ranks), number)

    (event,) = each_of_16(run).events
    assert event.environment == []


def test_changes_in_other_directions_are_events_of_their_own():
    def run(number, later):
        factor = 1.3 if later else 1.0
        both = [runs.measurement("shm", 8, half_ns=100 * factor, seed=number),
                runs.measurement("tcp", 8, half_ns=9000 / factor, seed=number)]  # fmt: skip
        return dated(runs.run(*both), number)

    assert {event.direction for event in each_of_16(run).events} == {"slower", "faster"}


def of(*environments, **changes):
    return run(environments=environments, **changes)


def on_each(*ranks, **fields):
    """A run whose ranks all have these fields."""
    return of(*(environment(rank, **fields) for rank in ranks or (0, 1)))


def path(**changes):
    interface = {"name": "eth1", "speed": 10**10, "mtu": 9000, "driver": "mlx5_core"} | changes
    congestion = interface.pop("congestion", "cubic")
    found = NetworkPath(
        protocol="tcp", family="ipv4", local="10.0.0.1", peer="10.0.0.2",
        interface=Interface(**interface), congestion=congestion,
    )  # fmt: skip
    return Connection(transport="tcp", rank=0, peer=1, path=found)


def clock(source):
    return ClockInfo(source=source, hertz=1e9, cost=20.0, resolution=1.0)


@pytest.mark.parametrize(
    ("base", "new", "change"),
    [
        ({"processor": "A"}, {"processor": "B"}, ("processor", "A", "B")),
        ({"kernel": "Linux 6.1"}, {"kernel": "Linux 6.12"}, ("kernel", "Linux 6.1", "Linux 6.12")),
        ({"hypervisor": "none"}, {"hypervisor": "KVM"}, ("hypervisor", "none", "KVM")),
        ({"mpi": "Open MPI v4.1.4"}, {"mpi": "MPICH 4"}, ("MPI", "Open MPI v4.1.4", "MPICH 4")),
        ({"mpi_library": "/a"}, {"mpi_library": "/b"}, ("MPI library", "/a", "/b")),
        ({"python": "3.11.2"}, {"python": "3.13.0"}, ("Python", "3.11.2", "3.13.0")),
        ({"governor": "powersave"}, {"governor": "performance"},
         ("governor", "powersave", "performance")),
        ({"thp": "always"}, {"thp": "never"}, ("transparent huge pages", "always", "never")),
        ({"clock": clock("tsc")}, {"clock": clock("monotonic")},
         ("clock source", "tsc", "monotonic")),
        ({"host": "n1"}, {"host": "n2"}, ("hosts", "n1", "n2")),
        ({"core": None}, {}, ("cores", "not pinned", "0,1")),
        ({}, {"thread_cores": [4, 5]}, ("cores", "0,1", "4,5,4,5")),
        ({"variables": {"UCX_TLS": "tcp"}}, {"variables": {}}, ("UCX_TLS", "tcp", "not set")),
        ({"variables": {}}, {"variables": {"FI_PROVIDER": "efa"}},
         ("FI_PROVIDER", "not set", "efa")),
    ],
)  # fmt: skip
def test_each_difference_is_named(base, new, change):
    assert changes(on_each(**base), on_each(**new)) == [Change(*change)]
    name, before, after = change
    assert changes(on_each(**new), on_each(**base)) == [Change(name, after, before)]


@pytest.mark.parametrize("field", ["governor", "thp", "hypervisor", "mpi", "mitigations"])
def test_what_is_not_known_of_one_run_is_no_change(field):
    known, unknown = on_each(**{field: "some: thing"}), on_each(**{field: None})
    assert changes(known, unknown) == changes(unknown, known) == []


@pytest.mark.parametrize(
    ("base", "new", "change"),
    [
        ({"name": "A"}, {"name": "B"}, ("device", "A", "B")),
        ({"driver": "550.9"}, {"driver": "570.1"}, ("CUDA driver", "550.9", "570.1")),
        ({"cuda": "12.4"}, {"cuda": "12.8"}, ("CUDA", "12.4", "12.8")),
        ({"link_width": 16}, {"link_width": 8}, ("device link", "PCIe 5 x16", "PCIe 5 x8")),
        ({"link_generation_max": 4}, {}, ("device link", "PCIe 4 x16", "PCIe 5 x16")),
        ({"power_limit": 400.0}, {}, ("device power limit", "400 W", "700 W")),
        ({"graphics_clock": 1500.0}, {"memory_clock": None},
         ("device clocks", "graphics 1500, memory 2619 MHz", "graphics 1980 MHz")),
        ({"ecc": False}, {"ecc": True}, ("device ECC", "off", "on")),
    ],
)  # fmt: skip
def test_each_difference_of_a_device_is_named(base, new, change):
    before, after = (on_each(), on_each())
    before = msgspec.structs.replace(before, devices=(device(**base), device(1)))
    after = msgspec.structs.replace(after, devices=(device(**new), device(1, **new)))
    # Of several devices, all values that differ.
    only = msgspec.structs.replace(before, devices=before.devices[:1])
    assert changes(only, after) == [Change(*change)]
    assert changes(before, before) == []


def test_what_is_not_known_of_a_device_is_no_change():
    unknown = dict.fromkeys(("driver", "link_width", "power_limit", "ecc"))
    unknown |= dict.fromkeys(("graphics_clock", "memory_clock"))
    first, second = (of(environment(0), devices=(each,)) for each in (device(), device(**unknown)))
    assert changes(first, second) == changes(second, first) == []
    # Nor what an idle device lowers.
    idle = of(environment(0), devices=(device(link_generation=1),))
    assert changes(idle, first) == []
    # Nor is anything of it where the other run has none.
    assert changes(of(environment(0)), first) == []


def test_cores_are_those_of_the_ranks_of_a_host_in_their_order_and_of_all_launches():
    crowd = of(*(environment(rank, core=rank) for rank in range(16)))
    moved = of(*(environment(rank, core=15 - rank) for rank in range(16)))
    (change,) = changes(crowd, moved)
    assert (change.name, change.base) == ("cores", "0-15")
    assert change.new.startswith("15,14,13,")
    again = of(environment(0), environment(1), environment(0, core=4, launch=1))
    assert changes(on_each(), again) == [("cores", "0,1", "0,1 or 4")]


def test_of_many_hosts_and_vulnerabilities_what_differs_is_named():
    many = of(*(environment(rank, host=f"n{rank}", core=0) for rank in range(9)))
    more = of(*(environment(rank, host=f"n{rank}", core=0) for rank in range(4, 16)))
    assert changes(many, more) == [
        ("hosts", "9 hosts, with n0, n1, n2, n3", "12 hosts, with n9, n10, n11, n12 and 3 more")
    ]
    first = "l1tf: PTE Inversion | retbleed: IBRS; SMT off"
    second = "l1tf: PTE Inversion | mds: Vulnerable"
    assert changes(on_each(mitigations=first), on_each(mitigations=second)) == [
        (
            "mitigations",
            "mds: not affected | retbleed: IBRS; SMT off",
            "mds: Vulnerable | retbleed: not affected",
        )
    ]
    same = on_each(mitigations="none needed")
    assert changes(same, on_each(mitigations="none needed")) == []


def test_variables_that_only_name_a_job_or_that_halftrip_sets_do_not_count(tmp_path):
    first = {"SLURM_JOB_ID": "1", "SLURM_JOB_PARTITION": "a", "OMPI_MCA_ess_base_jobid": "7"}
    # What the mpirun of Open MPI 4 sets, and that of 5 does not.
    first |= {"OMPI_MCA_orte_launch": "1", "OMPI_MCA_pmix": "^s1"}
    second = {"SLURM_JOB_ID": "2", "SLURM_JOB_PARTITION": "b", "OMPI_MCA_ess_base_jobid": "9"}
    found = changes(on_each(variables=first), on_each(variables=second))
    assert found == [("SLURM_JOB_PARTITION", "a", "b")]
    mpiexec = Mpiexec((str(tmp_path / "bin" / "mpiexec"),), "openmpi", None)
    (name,) = added = quick_start(mpiexec, {}, fabrics=())
    own, without = (on_each(variables=found) for found in (added, {}))
    assert changes(own, without) == changes(without, own) == []
    chosen = on_each(variables={name: "self,sm"})
    assert changes(own, chosen) == [(name, "not set", "self,sm")]


@pytest.mark.parametrize(
    ("fields", "change"),
    [
        ({"name": "eth2"}, ("interface", "eth1", "eth2")),
        ({"mtu": 1500}, ("MTU", "9000", "1500")),
        ({"driver": "ixgbe"}, ("driver", "mlx5_core", "ixgbe")),
        ({"speed": 10**9}, ("link speed", "10.0 Gbit/s", "1.00 Gbit/s")),
        ({"congestion": "bbr"}, ("congestion control", "cubic", "bbr")),
        ({"driver": None, "speed": None}, None),
    ],
)
def test_the_network_counts_as_far_as_it_is_known(fields, change):
    before, after = run(connections=(path(),)), run(connections=(path(**fields),))
    assert changes(before, after) == ([] if change is None else [Change(*change)])
    assert changes(before, run()) == []


def test_of_an_imported_run_only_the_tool_is_known():
    imported = imported_run("# OSU MPI Latency Test v7.4\n# Size  Latency (us)\n8  1.51\n")
    assert changes(run(), imported) == [("tool", "halftrip", "osu")]
    newer = imported_run("# OSU MPI Latency Test v7.5\n# Size  Latency (us)\n8  1.51\n")
    assert changes(imported, newer) == [("osu", "7.4", "7.5")]
    header = msgspec.structs.replace(run().header, halftrip="0.0.1")
    older = msgspec.structs.replace(run(), header=header)
    assert changes(older, run()) == [("halftrip", "0.0.1", run().header.halftrip)]
