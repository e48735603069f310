"""What differs between the environments of two runs."""

import msgspec
import pytest

from halftrip.analysis.environments import Change, changes
from halftrip.mpi.launcher import Mpiexec, quick_start
from halftrip.results.network_path import Interface, NetworkPath
from halftrip.results.records import ClockInfo, Connection
from harness.imports import imported_run
from harness.runs import device, environment, run


def of(*environments, **changes):
    return run(environments=environments, **changes)


def on_each(*ranks, **fields):
    """A run whose ranks all have these fields."""
    return of(*(environment(rank, **fields) for rank in ranks or (0, 1)))


def path(**changes):
    interface = {"name": "eth1", "speed": 10**10, "mtu": 9000, "driver": "mlx5_core"} | changes
    congestion = interface.pop("congestion", "cubic")
    found = NetworkPath(
        protocol="tcp",
        family="ipv4",
        local="10.0.0.1",
        peer="10.0.0.2",
        interface=Interface(**interface),
        congestion=congestion,
    )
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


def test_cores_are_those_of_the_ranks_of_a_host_in_their_order():
    crowd = of(*(environment(rank, core=rank) for rank in range(16)))
    moved = of(*(environment(rank, core=15 - rank) for rank in range(16)))
    (change,) = changes(crowd, moved)
    assert (change.name, change.base) == ("cores", "0-15")
    assert change.new.startswith("15,14,13,")


def test_a_launch_on_other_cores_counts():
    again = of(environment(0), environment(1), environment(0, core=4, launch=1))
    assert changes(on_each(), again) == [("cores", "0,1", "0,1 or 4")]


def test_of_many_hosts_those_are_named_that_the_other_run_has_not():
    many = of(*(environment(rank, host=f"n{rank}", core=0) for rank in range(9)))
    more = of(*(environment(rank, host=f"n{rank}", core=0) for rank in range(4, 16)))
    assert changes(many, more) == [
        ("hosts", "9 hosts, with n0, n1, n2, n3", "12 hosts, with n9, n10, n11, n12 and 3 more")
    ]


def test_variables_that_only_name_a_job_or_a_process_do_not_count():
    first = {"SLURM_JOB_ID": "1", "SLURM_JOB_PARTITION": "a", "OMPI_MCA_ess_base_jobid": "7"}
    # What the mpirun of Open MPI 4 sets, and that of 5 does not.
    first |= {"OMPI_MCA_orte_launch": "1", "OMPI_MCA_pmix": "^s1"}
    second = {"SLURM_JOB_ID": "2", "SLURM_JOB_PARTITION": "b", "OMPI_MCA_ess_base_jobid": "9"}
    found = changes(on_each(variables=first), on_each(variables=second))
    assert found == [("SLURM_JOB_PARTITION", "a", "b")]


def test_a_variable_that_halftrip_sets_itself_does_not_count(tmp_path):
    mpiexec = Mpiexec((str(tmp_path / "bin" / "mpiexec"),), "openmpi", None)
    added = quick_start(mpiexec, {}, fabrics=())
    assert added
    own, without = (on_each(variables=found) for found in (added, {}))
    assert changes(own, without) == changes(without, own) == []
    (name,) = added
    chosen = on_each(variables={name: "self,sm"})
    assert changes(own, chosen) == [(name, "not set", "self,sm")]


def test_only_the_vulnerabilities_that_are_treated_otherwise_are_named():
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
