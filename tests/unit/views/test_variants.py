"""What stands side by side: variants of a run, and figures of other tools beside ours."""

from itertools import pairwise

import msgspec
import pytest

from halftrip.analysis.flags import contradictions, evidences
from halftrip.analysis.flags.flag import typical_rtts
from halftrip.analysis.flags.machine import oversubscribed, unpinned
from halftrip.analysis.layers import steps
from halftrip.analysis.matching import partners
from halftrip.analysis.network import judged
from halftrip.api import resume
from halftrip.errors import UsageError
from halftrip.report.document import document
from halftrip.report.frame import frame
from halftrip.results.records import Launch, LaunchFailure, Skip
from halftrip.views import notes, screen, side_by_side
from halftrip.views.overview import _rates
from halftrip.views.screen import first_screen
from harness import runs
from harness.imports import imported_run, reference
from harness.screens import text_of

OPENMPI, MPICH = (("mpiexec", "mpiexec.openmpi"),), (("mpiexec", "mpiexec.mpich"),)
SOFTWARE = {OPENMPI: "Open MPI v5.0.1", MPICH: "MPICH 4.2"}


def measured(variant, launch, size=8, half_ns=100.0, transport="mpi", **fields):
    fields |= {"variant": variant, "launch": launch}
    return runs.slices(transport, size, "spin", levels=[half_ns] * 8, **fields)


def a_run(*measurements, planned=(OPENMPI, MPICH), environments=None, **changes):
    """A run of these variants, one launch of each, in that order."""
    if environments is None:
        environments = [
            runs.environment(rank, launch=launch, mpi=SOFTWARE.get(variant))
            for launch, variant in enumerate(planned)
            for rank in range(2)
        ]
    run = runs.run(*measurements)
    axes = {}
    for variant in planned:
        for name, value in variant:
            axes.setdefault(name, []).append(value)
    header = msgspec.structs.replace(run.header, plan=run.header.plan | {"vary": axes})
    launches = tuple(
        Launch(number=number, round=0, variant=variant) for number, variant in enumerate(planned)
    )
    return msgspec.structs.replace(
        run, header=header, environments=tuple(environments), launches=launches, **changes
    )


@pytest.fixture
def both():
    return a_run(
        *measured(OPENMPI, 0), *measured(OPENMPI, 0, 64, 120), *measured(MPICH, 1, 8, 200),
        *measured(MPICH, 1, 64, 220),
    )  # fmt: skip


def test_variants_stand_side_by_side_in_the_order_of_the_plan(both):
    part = side_by_side.blocks_of_variants(document(both))[0]
    names = [column.name for column in part.columns]
    assert names == ["transport", "size", "mpiexec.openmpi", "95 %", "mpiexec.mpich", "95 %"]
    assert [line.cells[1] for line in part.lines] == ["8", "64"]
    first = part.lines[0].cells
    assert float(first[2]) < float(first[4])
    shown = text_of(first_screen(document(both)), 200)
    assert "Open MPI v5.0.1 and MPICH 4.2" in shown.splitlines()[0]
    assert "mpiexec.openmpi: Open MPI v5.0.1\n" in shown
    assert "mpiexec.mpich: MPICH 4.2\n" in shown
    found = frame(both)
    assert dict(zip(found["variant"], found["mpi"], strict=True)) == {
        "mpiexec mpiexec.openmpi": "Open MPI v5.0.1", "mpiexec mpiexec.mpich": "MPICH 4.2",
    }  # fmt: skip


def test_numbers_say_of_what_they_are_and_long_values_are_letters_with_a_key():
    numbers = tuple((("env.N", str(n)),) for n in (1, 2))
    run = a_run(*measured(numbers[0], 0), *measured(numbers[1], 1), planned=numbers)
    part = side_by_side.blocks_of_variants(document(run))[0]
    assert [c.name for c in part.columns][2::2] == ["N 1", "N 2"]
    # Many variants have a column for each axis.
    many = tuple((("env.N", f"v{n}"),) for n in range(6))
    run = a_run(*(m for n, v in enumerate(many) for m in measured(v, n)), planned=many)
    shown = text_of(first_screen(document(run)), 120)
    assert any(line.split()[:1] == ["N"] for line in shown.splitlines())
    long = tuple((("env.UCX_TLS", f"{name},self,cuda_copy,cma"),) for name in ("posix", "sysv"))
    run = a_run(*measured(long[0], 0), *measured(long[1], 1), planned=long)
    part = side_by_side.blocks_of_variants(document(run))[0]
    assert [c.name for c in part.columns][2:] == ["A", "95 %", "B", "95 %"]
    assert side_by_side.key_of_variants(document(run)) == [
        f"A: UCX_TLS {long[0][0][1]}", f"B: UCX_TLS {long[1][0][1]}",
    ]  # fmt: skip


def test_what_is_different_about_a_base_is_said(both):
    """Also of a file that anybody may have written, whose plan makes no sense."""
    base = {"file": "b.jsonl", "env": [["X", "1"]], "mpiexec": "old"}
    for changes, said in (
        ({"against": base}, ["base: b.jsonl, measured again with X=1, mpiexec old"]),
        *(({"against": odd}, []) for odd in (3, {"file": "b.jsonl", "env": [3]})),
        *(({"vary": odd}, []) for odd in (3, {"mpiexec": [["a"], {}]}, {"x": []})),
    ):
        header = msgspec.structs.replace(both.header, plan=both.header.plan | changes)
        found = document(msgspec.structs.replace(both, header=header))
        assert [
            line for line in side_by_side.key_of_variants(found) if line.startswith("base:")
        ] == said
        assert "mpiexec.mpich" in text_of(first_screen(found), 200)


def test_what_failed_or_was_skipped_is_named_with_its_variant(both):
    failures = tuple(LaunchFailure(launch=n, variant=MPICH, reason="it aborts") for n in (1, 3))
    # One of all variants has nothing to do with them.
    alike = [Skip(transport="udp", reason="no route", variant=v) for v in (OPENMPI, MPICH)]
    of_one = Skip(transport="mpi", reason="it has no window", variant=MPICH)
    run = msgspec.structs.replace(both, launch_failures=failures, skips=(*alike, of_one))
    assert notes.failures(document(run)) == [
        "failed: mpiexec mpiexec.mpich: it aborts (in 2 launches)"
    ]
    assert notes.skips(document(run)) == [
        "not measured: udp: no route",
        "mpiexec mpiexec.mpich: not measured: mpi: it has no window",
    ]


def test_rows_of_variants_do_not_contradict_each_other_nor_are_they_layers(both):
    """Larger messages that are faster with another MPI are no contradiction."""
    run = a_run(*measured(OPENMPI, 0, 8, 900), *measured(MPICH, 1, 4096, 100))
    assert contradictions(evidences(run)) == {}
    same = a_run(*measured(OPENMPI, 0, 8, 900), *measured(OPENMPI, 0, 4096, 100))
    assert contradictions(evidences(same))
    stream = {"pattern": "stream", "window": 64, "places": "own"}
    run = a_run(*measured(OPENMPI, 0, 8, 100), *measured(MPICH, 1, 8, 9000, **stream))
    assert contradictions(evidences(run)) == {}
    run = a_run(*measured(OPENMPI, 0), *measured(MPICH, 1, transport="mpi4py"))
    assert steps(run.by_configuration) == []
    assert len(judged(both.by_configuration)) == 4
    stream = {"pattern": "stream", "window": 64, "places": "own"}
    run = a_run(*measured(OPENMPI, 0, **stream), *measured(MPICH, 1, 8, 200, **stream))
    assert set(_rates(document(run).rate_rows)) == {("mpi", OPENMPI), ("mpi", MPICH)}


def test_cores_and_flags_of_ranks_are_of_their_own_launches():
    """A row is adjusted to the round trip of its own cores."""
    found = [*measured(OPENMPI, 0), *measured(MPICH, 1)]
    moved = [
        runs.with_settings(
            m, initiator=msgspec.structs.replace(m.configuration.initiator, core=m.launch)
        )
        for m in found
    ]
    assert [len(typical_rtts(a_run(*each))) for each in (found, moved)] == [1, 2]
    environments = [
        runs.environment(rank, launch=launch, core=None if launch else rank, oversubscribed=launch)
        for launch in (False, True)
        for rank in range(2)
    ]
    flagged = {
        row.configuration.variant: (unpinned(row) is not None, oversubscribed(row) is not None)
        for row in evidences(a_run(*found, environments=environments))
    }
    assert flagged == {OPENMPI: (False, False), MPICH: (True, True)}


OSU = """# OSU MPI Latency Test v7.4
# Size          Latency (us)
8                       9.00
16                      1.51
32                      1.55
64                      1.58
"""


def shown_of(imported, width=200):
    return text_of(screen.first_screen(document(imported), "osu.jsonl"), width)


def test_imported_figures_say_where_they_are_from_and_cannot_be_resumed(tmp_path):
    shown = shown_of(imported_run(OSU))
    assert shown.splitlines()[0].endswith("osu, imported from source.txt")
    assert "osu: its own figures; " in shown
    assert "latency: the mean of its row, as the time of a message one way." in shown
    (trust,) = [line for line in shown.splitlines() if line.startswith("Trust: ")]
    # That figures are single comes last.
    assert trust.index("1 row: contradicted") < trust.index("3 rows: no interval")
    for word in ("--resume", "--again", "--tails", "--cost", "doctor"):
        assert word not in shown
    assert "More:  halftrip show osu.jsonl --why  # or --details\n" in shown
    path = runs.save(imported_run(OSU), tmp_path / "osu.jsonl")
    for again in (None, ["no"]):
        with pytest.raises(UsageError, match=r"what osu has measured cannot be resumed$"):
            resume(path, again=again)


def side_by_side_of(theirs, *measured, width=160):
    """The lines of both runs beside each other."""
    documents = [document(runs.run(*measured)), document(theirs)]
    shown = side_by_side.side_by_side(documents, ["mine.jsonl", "theirs.jsonl"])
    return text_of(shown, width).splitlines()


def beside(*measured):
    """The cells of the lines of both runs."""
    lines = side_by_side_of(imported_run(OSU), *measured, width=120)
    assert lines[1].startswith("B: theirs.jsonl, ")
    assert lines[1].endswith(", imported from osu")
    return [line.split() for line in lines if line.startswith("mpi ")]


def test_it_stands_beside_what_it_may_be():
    found = beside(runs.measurement("mpi", 16), runs.measurement("mpi", 128))
    sizes = [line[1] for line in found]
    assert sizes == ["16", "128", "8", "32", "64"]
    # The figure, no interval, and a ratio that stands alone.
    assert found[0][-4:] == ["1.51!", "±", "?", "15.1?"]
    assert found[2][2:4] == ["-", "-"]
    # It may be either of two, or is known to be another.
    for others in (
        [{"wait": "spin"}, {"wait": "block"}], [{"buffers": "same"}], [{"mode": "nonblocking"}],
    ):  # fmt: skip
        found = beside(*(runs.measurement("mpi", 16, **each) for each in others))
        assert len(found) == 4 + len(others)


def test_a_row_of_each_table_stands_beside_ours_and_a_line_says_why_others_stand_alone():
    lines = side_by_side_of(imported_run(reference(4)), runs.measurement("mpi", 64))
    beside = [line for line in lines if "round trip of 64 " in line]
    assert len(beside) == 2
    for network, line in zip(("Gigabit Ethernet", "Myrinet"), beside, strict=True):
        assert f"{network} " in line
        assert " - " not in line
    (said,) = [line for line in lines if line.startswith("B: 2 of its 122 rows stand beside ")]
    assert "not the others: " in said
    for reason in (" of pattern stream", "of mode nonblocking", "of another size"):
        assert reason in said
    several = [runs.measurement("mpi", 16, wait=wait) for wait in ("spin", "block")]
    for measured, reason in (
        ([runs.measurement("mpi", 16)], "not the others: 3 of another size"),
        ([runs.measurement("mpi", 16, buffers="same")], "1 of buffers separate"),
        (several, "1 that may be any of several rows"),
    ):
        lines = side_by_side_of(imported_run(OSU), *measured)
        assert any(reason in line for line in lines)


STREAM = """# OSU MPI Bandwidth Test v7.4
# Size      Bandwidth (MB/s)
1024                  500.00
"""


@pytest.mark.parametrize(("places", "count"), [("same", 1), ("own", 2)])
def test_what_is_compared_is_what_stands_side_by_side(places, count):
    """osu_bw sends all messages of a window from one place."""
    kind = {"pattern": "stream", "mode": "nonblocking", "window": 64, "places": places}
    mine, theirs = runs.measurement("mpi", 1024, **kind), imported_run(STREAM)
    lines = [line for line in side_by_side_of(theirs, mine) if line.startswith("mpi ")]
    assert len(lines) == count
    said = any("1 of places same" in line for line in side_by_side_of(theirs, mine))
    assert said == (count == 2)
    rows = ([row.configuration for row in document(each).rows] for each in (runs.run(mine), theirs))
    assert len(partners(*rows, match_unknown=True)) == 2 - count


def test_a_text_of_many_tables_has_a_line_for_each():
    """Streams and ping-pongs of several networks have no size in common to be compared by."""
    shown = shown_of(imported_run(reference(4)), 110)
    lines = [line for line in shown.splitlines() if line.startswith(("Gigabit", "Myrinet"))]
    assert len(lines) == 18
    (line,) = [each for each in lines if each.startswith("Myrinet") and "round trip of 64" in each]
    assert "7.12" in line
    wanted = ("Gigabit Ethernet  exponential", "stream", "1 to 64M", "33.1! at 32K")
    assert any(all(words in line for words in wanted) for line in lines)
    assert "pingpong, stream" in shown.splitlines()[0]
    # Rows of a table stand together.
    found = document(imported_run(reference(4)))
    names = [dict(row.configuration.variant)["network"] for row in found.latency_rows]
    assert sum(a != b for a, b in pairwise(names)) < 10
