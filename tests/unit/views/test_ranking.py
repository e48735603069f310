"""Which path is the fastest, and what MPI adds, in a sentence each, with intervals that hold."""

import itertools
import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.analysis.ranking import rankings
from halftrip.page.answer import answer
from halftrip.report.document import document
from halftrip.results.carrier import Carrier
from halftrip.views.mpi_overhead import lines
from halftrip.views.ranking import sentence
from halftrip.views.screen import first_screen
from harness import runs
from harness.moving import moving
from harness.screens import text_of

PATHS = ("shm", "mpi", "tcp", "unix", "pipe", "udp")


def made(times, slices=6, spread=0.01, each="slice"):
    """A run of paths with these times by transport and size, ns; slices, or launches if `each` is
    one, differ by `spread`."""
    return document(
        runs.run(
            *(
                runs.measurement(
                    transport, size, half_ns=ns * (1 + spread * (n % 3 - 1)), seed=n, **{each: n}
                )
                for transport, of in times.items()
                for size, ns in of.items()
                for n in range(slices)
            )
        ),
        flags=False,
    )


def test_the_fastest_is_said_with_its_ratios_and_where_another_one_is_faster():
    found = made(
        {
            "shm": {8: 100.0, 1024: 200.0, 65536: 9000.0, 1 << 20: 90_000.0},
            "mpi": {8: 210.0, 1024: 300.0, 65536: 6000.0, 1 << 20: 45_000.0},
            "unix": {8: 46_000.0, 1024: 47_000.0, 65536: 60_000.0, 1 << 20: 200_000.0},
        }
    )
    said = sentence(found)
    assert said.startswith("8 B: shm is 2.10 (2.0")
    assert ") times as fast as mpi, 46" in said
    assert said.endswith(") times as fast as shm, within one launch")
    assert "; from 64 KiB on, at 1 MiB mpi is 2.00 (1.9" in said
    assert said in " ".join(text_of(first_screen(found), 400).split())
    assert answer(found)[0] == f"{said}."
    kinds = {"mpi4py": "buffer", "mp-queue": "bytes"}
    levels = [100.0, 101.0, 102.0]
    told = [runs.slices(name, 8, levels=levels, object=kind) for name, kind in kinds.items()]
    assert "bytes" not in sentence(document(runs.run(*told[0], *told[1]), flags=False))
    # While it is measured, figures change still.
    assert said not in text_of(first_screen(found._replace(is_running=True)), 400)


SMALL_TO_LARGE = [8 << 2 * n for n in range(7)]


@pytest.mark.parametrize(
    ("fastest", "said"),
    [
        ("sssuutt", "the fastest is unix from 512 B to 2 KiB, tcp from 8 KiB on: at 32 KiB 2.00 ("),
        ("ssuusss", "the fastest is unix from 128 B to 512 B: at 512 B 2.00 ("),
        ("ssussst", "the fastest is unix at 128 B, tcp at 32 KiB: at 32 KiB 2.00 ("),
        ("sutsuts", "unix at 32 B, tcp at 128 B, tcp at 8 KiB (4 changes in all): at 8 KiB 2.00"),
        # What is not told apart is no change.
        ("suUuutt", "the fastest is unix from 32 B to 2 KiB, tcp from 8 KiB on: at 32 KiB"),
        ("sssSuuu", "; from 2 KiB on, at 32 KiB unix is 2.00 ("),
    ],
)
def test_where_others_are_the_fastest_in_between_is_said(fastest, said):
    """A capital: by no more than slices differ."""
    names = {"s": "shm", "u": "unix", "t": "tcp"}
    times = {
        name: {
            size: 1e4 if letter == best else 1.001e4 if best.isupper() else 2e4
            for size, best in zip(SMALL_TO_LARGE, fastest, strict=True)
        }
        for letter, name in names.items()
    }
    assert said in sentence(made(times))


def test_ratios_of_one_launch_have_a_caveat_and_what_is_not_told_apart_is_said():
    near = sentence(made({"shm": {8: 100.0}, "mpi": {8: 100.5}}, spread=0.05))
    assert near.startswith("8 B: shm is not told apart from mpi (0.")
    assert near.endswith(" times), within one launch")
    wide = sentence(made({"shm": {8: 100.0}, "mpi": {8: 101.0}, "unix": {8: 102.0}}, spread=0.99))
    assert wide == "8 B: shm is not told apart from mpi and unix, within one launch"
    alone = sentence(made({"shm": {8: 100.0}, "mpi": {8: 300.0}}, slices=1))
    assert alone == "8 B: shm is 3.0 (no interval) times as fast as mpi"
    far = sentence(made({"shm": {8: 100.0}, "tcp": {8: 2_364_700.0}}, slices=1))
    assert far == "8 B: shm is 24,000 (no interval) times as fast as tcp"
    assert sentence(made({"shm": {8: 100.0, 64: 200.0}})) == ""
    assert sentence(made({"shm": {8: 100.0}, "mpi": {64: 300.0}})) == ""
    many = sentence(made({name: {8: 100.0 * 2**n} for n, name in enumerate(PATHS)}))
    assert many.endswith(") times as fast as udp, the slowest of 6, within one launch")
    assert "unix" not in many
    several = made({"shm": {8: 100.0}, "mpi": {8: 300.0}}, each="launch")
    assert sentence(several).endswith(") times as fast as mpi")
    assert "compares over launches" not in text_of(first_screen(several), 400)
    one = text_of(first_screen(made({"shm": {8: 100.0}, "mpi": {8: 300.0}})), 400)
    assert "More:  the same with --launches 5 compares over launches\n" in one


def test_figures_of_one_state_are_compared_with_those_of_the_same_alone():
    """Of two rows that go with the state, each was mostly in another one."""
    one, _ = document(moving(), flags=False).rows
    assert (one.state.word, [each.state.word for each in one.others]) == ("near", ["far"])
    near, far = (
        row._replace(configuration=runs.configuration("shm-ring", 8), others=())
        for row in (one, *one.others)
    )
    for slower in (1.0, 0.8, 3.0):
        low = [each._replace(summary=_times(each.summary, slower)) for each in (near, far)]
        ranking, change = rankings([one, low[1]._replace(others=(low[0],))])
        assert change == []
        # The row that was far most of the time is slow by that alone.
        assert ranking.others[0].factor.value == pytest.approx(max(slower, 1 / slower), rel=0.02)
        assert (ranking.fastest.configuration.transport == "shm-ring") is (slower < 1)
    assert rankings([one._replace(others=()), far]) is None


def _times(summary, factor):
    ends = {name: factor * getattr(summary, name) for name in ("latency", "low", "high")}
    return summary._replace(**ends)


@settings(max_examples=30)
@given(
    st.dictionaries(
        st.sampled_from(PATHS[:4]),
        st.dictionaries(st.sampled_from([8, 64, 4096]), st.floats(50.0, 5e4), min_size=1),
        min_size=2,
    )
)
def test_the_fastest_is_the_one_with_the_least_time_and_ratios_are_those_of_the_times(times):
    found = rankings(made(times, slices=2).rows)
    sizes = {size for of in times.values() for size in of}
    counts = {size: sum(size in of for of in times.values()) for size in sizes}
    if max(counts.values()) < 2:
        assert found is None
        return
    ranking, changes = found
    assert counts[ranking.size] == max(counts.values())
    of_size = {name: of[ranking.size] for name, of in times.items() if ranking.size in of}
    least = of_size[ranking.fastest.configuration.transport]
    assert least <= min(of_size.values()) * 1.01
    assert len(ranking.others) == len(of_size) - 1
    for each in ranking.others:
        expected = of_size[each.row.configuration.transport] / least
        assert each.factor.value == pytest.approx(expected, rel=0.02)
        assert math.isnan(each.factor.low) or each.factor.low <= each.factor.value
    for change in changes:
        assert ranking.size < change.begin <= change.end
        assert change.fastest.configuration.transport != ranking.fastest.configuration.transport


def test_variants_are_called_as_in_their_table_and_what_tells_nothing_has_no_interval():
    def varied(spread):
        return runs.run(
            *(
                runs.measurement(
                    "mpi", 8, half_ns=ns * spread**n, slice=n, seed=n,
                    variant=(("mpiexec", f"/a/very/long/path/{name}/bin/mpiexec"),),
                )
                for name, ns in (("one", 100.0), ("two", 300.0))
                for n in range(6)
            )
        )  # fmt: skip

    said = " ".join(text_of(first_screen(document(varied(1.0), flags=False)), 300).split())
    assert "8 B: A is 3.00" in said
    assert ") times as fast as B, within one launch A: mpiexec /a/very" in said
    wide = sentence(document(varied(30.0), flags=False))
    assert " is not told apart from mpi /a/very" in wide


LARGE = 4 << 20


def slices(transport, size, half_ns, count=8, **changes):
    """Slices that give a narrow interval."""
    wait = changes.pop("wait", "block" if transport == "tcp" else "spin")
    levels = [half_ns * (1 + 0.001 * (n % 3)) for n in range(count)]
    return runs.slices(transport, size, wait, levels=levels, **changes)


def said(*measurements, mpi="Open MPI 4.1.4", way=None, **variables):
    ways = [Carrier(transport="mpi", rank=0, peer=1, library=mpi, ways=[way])] if way else []
    ranks = tuple(runs.environment(rank, mpi=mpi, variables=variables) for rank in (0, 1))
    measured = (each for found in measurements for each in found)
    return lines(document(runs.run(*measured, environments=ranks, carriers=tuple(ways))))


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


@pytest.mark.parametrize(
    ("way", "first"),
    [
        ("ucx (pml)", "what MPI adds to ucx: "),
        ("shm (btl sm)", "MPI beside ucx, by which it does not go: "),
        (None, "MPI beside ucx: "),
    ],
)
def test_what_it_adds_to_a_library_is_said_of_that_which_it_uses(way, first):
    measured = (
        slices(name, 8, ns) for name, ns in (("mpi", 400.0), ("ucx", 250.0), ("shm", 200.0))
    )
    path, library = said(*measured, way=way)
    assert library.startswith(f"{first}a message of 8 B takes 0.15")
    assert path.startswith("what MPI adds to shm: ")


def test_an_mpi_that_goes_through_sockets_or_is_told_to():
    measured = (slices("shm", 8, 200.0), slices("tcp", 8, 12_000.0))
    (told,) = said(slices("mpi", 8, 11_000.0), *measured)
    assert "its ranks do not seem to use shared memory" in told
    # Sockets as fast as shared memory tell nothing.
    (told,) = said(slices("mpi", 8, 210.0), slices("shm", 8, 200.0), slices("tcp", 8, 500.0))
    assert "0.0100 us more" in told or "0.010 us more" in told
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
    # Of a path that it does not use nothing is said.
    (told,) = said(slices("mpi", 8, 400.0), slices("tcp", 8, 16_400.0))
    assert told == "MPI does not go through a socket, which would take 16.4 us (tcp)"
    # Shared memory whose ends sleep is as slow as a socket.
    assert said(slices("mpi", 8, 9000.0), slices("shm", 8, 9000.0, wait="block")) == []


@pytest.mark.parametrize("below", [(), slices("shm", 8, 200.0)])
def test_a_path_that_it_does_not_use_is_known_by_intervals(below):
    """The median of TCP is far from that of MPI, its interval is not."""
    tcp = [runs.measurement("tcp", 8, "block", ns, slice=n) for n, ns in enumerate((1e3, 2e6, 9e6))]
    assert not any("socket" in line for line in said(slices("mpi", 8, 400.0), tcp, below))
    both = zip(slices("tcp", 8, 9e3, 4), slices("tcp", 8, 1e4, 4), strict=True)
    wide = list(itertools.chain(*both))
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


def test_nothing_is_claimed_without_an_interval_nor_of_other_runs():
    for ns, count in ((200.1, 8), (400.0, 1)):
        (told,) = said(slices("mpi", 8, ns, count), slices("shm", 8, 200.0, count))
        assert told.endswith("which is not told apart")
    mpi, shm = slices("mpi", 8, 400.0), slices("shm", 8, 200.0)
    assert said(mpi) == said(shm) == []
    assert said(mpi, shm, slices("unix", 8, 5000.0)) == []
    assert said(mpi, slices("shm", 16, 200.0)) == []
    assert said(mpi, shm, slices("shm", 8, 200.0, pair=(2, 3))) == []


def test_mpi_may_be_faster_and_the_fastest_way_to_wait_counts():
    (told,) = said(
        slices("mpi", 8, 100.0), slices("shm", 8, 200.0), slices("shm", 8, 9000.0, wait="block")
    )
    assert "a message of 8 B takes 0.10 us less (" in told
    assert ": 2.0 times as fast)" in told
    content = document(runs.run(*slices("mpi", 8, 400.0), *slices("shm", 8, 200.0)))
    assert "what MPI adds to shm: " in text_of(first_screen(content), 100)


def test_what_computes_in_between_neither_counts_nor_lengthens_names():
    delayed = [
        runs.measurement(name, 8, seed=n, slice=n, delay=delay)
        for name in ("shm", "tcp")
        for delay in (0, 2000)
        for n in range(6)
    ]
    said = sentence(document(runs.run(*delayed), flags=False))
    assert said.startswith("8 B: ")
    assert "delay" not in said
