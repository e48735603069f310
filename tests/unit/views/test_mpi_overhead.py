"""What MPI adds to the path below it, in one or two sentences."""

import msgspec
import pytest

from halftrip.report.document import document
from halftrip.views.mpi_overhead import lines
from halftrip.views.screen import first_screen
from harness import runs
from harness.moving import moving
from harness.screens import text_of

LARGE = 4 << 20


def slices(transport, size, half_ns, count=8, **changes):
    """Slices that give a narrow interval."""
    wait = changes.pop("wait", "block" if transport == "tcp" else "spin")
    levels = [half_ns * (1 + 0.001 * (n % 3)) for n in range(count)]
    return runs.slices(transport, size, wait, levels=levels, **changes)


def said(*measurements, mpi="Open MPI 4.1.4", **variables):
    ranks = tuple(runs.environment(rank, mpi=mpi, variables=variables) for rank in (0, 1))
    measured = (each for found in measurements for each in found)
    return lines(document(runs.run(*measured, environments=ranks)))


def test_what_it_adds_to_shared_memory_at_a_small_and_a_large_size():
    times = {"mpi": (400.0, 500_000.0), "shm": (200.0, 400_000.0), "tcp": (12_000.0, 1_500_000.0)}
    first, second = said(
        *(
            slices(name, size, ns)
            for name in times
            for size, ns in zip((8, LARGE), times[name], strict=True)
        )
    )
    assert first.startswith("what MPI adds to shm: a message of 8 B takes 0.20 us more (0.40")
    assert "2.0 times as long); messages of 4 MiB have 20 % less bandwidth (8.3" in first
    assert second.startswith("MPI does not go through a socket, which would take 12.0 us")


def test_an_mpi_that_goes_through_sockets():
    measured = (slices("shm", 8, 200.0), slices("tcp", 8, 12_000.0))
    (told,) = said(slices("mpi", 8, 11_000.0), *measured)
    assert "its ranks do not seem to use shared memory" in told
    # Sockets as fast as shared memory tell nothing.
    (told,) = said(slices("mpi", 8, 210.0), slices("shm", 8, 200.0), slices("tcp", 8, 500.0))
    assert "0.0100 us more" in told or "0.010 us more" in told


def test_it_is_tcp_where_its_settings_say_so():
    measured = slices("mpi", 8, 15_000.0), slices("tcp", 8, 12_000.0)
    for variables in (
        {"OMPI_MCA_btl": "self,tcp"},
        {"OMPI_MCA_pml": "ucx", "UCX_TLS": "tcp"},
        {"mpi": "MPICH 4.2", "UCX_TLS": "tcp,self"},
    ):
        (told,) = said(*measured, **variables)
        assert told.startswith("what MPI adds to tcp: a message of 8 B takes 3.0 us more")
    # Not by way of tcp, or nobody says.
    for variables in ({}, {"OMPI_MCA_btl": "^tcp"}, {"UCX_TLS": "tcp"}, {"OMPI_MCA_pml": "cm"}):
        assert said(*measured, **variables) == []


def test_of_a_path_that_it_does_not_use_nothing_is_said():
    (told,) = said(slices("mpi", 8, 400.0), slices("tcp", 8, 16_400.0))
    assert told == "MPI does not go through a socket, which would take 16.4 us (tcp)"
    # Shared memory whose ends sleep is as slow as a socket.
    assert said(slices("mpi", 8, 9000.0), slices("shm", 8, 9000.0, wait="block")) == []


@pytest.mark.parametrize("below", [(), slices("shm", 8, 200.0)])
def test_a_path_that_it_does_not_use_is_known_by_intervals(below):
    """The median of TCP is far from that of MPI, its interval is not."""
    tcp = [runs.measurement("tcp", 8, "block", ns, slice=n) for n, ns in enumerate((1e3, 2e6, 9e6))]
    assert not any("socket" in line for line in said(slices("mpi", 8, 400.0), tcp, below))
    wide = [*slices("tcp", 8, 9e3, 4), *slices("tcp", 8, 1e4, 4)]
    wide = [msgspec.structs.replace(each, slice=n) for n, each in enumerate(wide)]
    assert "~ us (tcp)" in said(slices("mpi", 8, 400.0), wide, below)[-1]


def test_what_it_adds_is_of_one_state():
    """Almost all launches of shm were far, those of MPI near and far."""
    run = moving(1, share=0.5)
    mpi = [each for each in run.measurements if each.configuration.transport == "shm"]
    shm = [
        each
        for launch in range(10)
        for each in moving(10 + launch, share=float(launch > 0)).measurements
        if each.launch == launch and each.configuration.transport == "shm"
    ]
    (told,) = said([runs.with_settings(each, transport="mpi") for each in mpi], shm)
    assert "a message of 8 B, far, takes 0.1" in told
    assert told.endswith("which is not told apart")


def test_nothing_is_claimed_without_an_interval():
    for ns, count in ((200.1, 8), (400.0, 1)):
        (told,) = said(slices("mpi", 8, ns, count), slices("shm", 8, 200.0, count))
        assert told.endswith("which is not told apart")


def test_mpi_may_be_faster_and_the_fastest_way_to_wait_counts():
    (told,) = said(
        slices("mpi", 8, 100.0), slices("shm", 8, 200.0), slices("shm", 8, 9000.0, wait="block")
    )
    assert "a message of 8 B takes 0.10 us less (" in told
    assert ": 2.0 times as fast)" in told
    content = document(runs.run(*slices("mpi", 8, 400.0), *slices("shm", 8, 200.0)))
    assert "what MPI adds to shm: " in text_of(first_screen(content), 100)


def test_other_runs_say_nothing_of_it():
    mpi, shm = slices("mpi", 8, 400.0), slices("shm", 8, 200.0)
    assert said(mpi) == said(shm) == []
    assert said(mpi, shm, slices("unix", 8, 5000.0)) == []
    assert said(mpi, slices("shm", 16, 200.0)) == []
    assert said(mpi, shm, slices("shm", 8, 200.0, pair=(2, 3))) == []
