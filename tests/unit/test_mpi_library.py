"""Which MPI library belongs to which launcher: file systems of every kind."""

import os
from pathlib import Path

import pytest

from halftrip.errors import Unavailable, UsageError
from halftrip.job import shm_cleanup
from halftrip.job.join import Surrounding, speaks, surrounding
from halftrip.mpi.library import library


def install(root, *paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch(mode=0o755)
    return root


def program(root, name, says):
    path = root / "bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def test_a_quote_without_its_end_is_a_mistake():
    with pytest.raises(UsageError, match='--mpiexec: "a \'b": no closing quotation'):
        library.find_mpiexec("a 'b")


@pytest.mark.parametrize("size", ["²", "x", "", "-2"])
def test_what_is_no_number_is_no_job(size):
    assert surrounding({"PMI_RANK": "0", "PMI_SIZE": size}) is None


@pytest.mark.parametrize(
    ("says", "family"),
    [
        ("mpirun (Open MPI) 4.1.4", "openmpi"),
        ("prterun (PRRTE) 3.0.13", "openmpi"),
        ("HYDRA build details:", "mpich"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.16", "mpich"),
        ("slurm 22.05", None),
    ],
)
def test_a_launcher_is_known_by_what_it_says(tmp_path, says, family):
    path = program(tmp_path, "mpiexec", says)
    assert library.find_mpiexec(str(path)).family == family


def test_a_launcher_may_have_arguments(tmp_path):
    path = program(tmp_path, "mpiexec", "Open MPI")
    assert library.find_mpiexec(f"{path} --host a:1,b:1").command == (
        str(path),
        "--host",
        "a:1,b:1",
    )


def test_a_launcher_that_is_no_program_is_a_mistake(tmp_path):
    for wanted in ("/nowhere/mpiexec", "no-such-mpiexec", str(tmp_path), " "):
        with pytest.raises(UsageError, match="--mpiexec"):
            library.find_mpiexec(wanted)


def test_no_launcher_at_all_is_a_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(Unavailable, match="no mpiexec"):
        library.find_mpiexec()


@pytest.mark.parametrize(
    ("family", "files", "expected"),
    [
        # A wheel in a virtual environment; Debian; a prefix of its own; a Cray.
        ("openmpi", ["bin/mpiexec", "lib/libmpi.so.40"], "lib/libmpi.so.40"),
        ("mpich", ["bin/mpiexec", "lib/libmpi.so.12"], "lib/libmpi.so.12"),
        ("mpich", ["bin/mpiexec", "lib64/libmpi.so.12"], "lib64/libmpi.so.12"),
        ("mpich", ["bin/mpiexec", "lib/libmpich.so.12"], "lib/libmpich.so.12"),
        ("mpich", ["bin/mpiexec", "lib/libmpi_cray.so.12"], "lib/libmpi_cray.so.12"),
        # Both installed side by side.
        ("mpich", ["bin/m", "lib/libmpi.so.40", "lib/libmpich.so.12"], "lib/libmpich.so.12"),
        ("openmpi", ["bin/m", "lib/libmpi.so.40", "lib/libmpich.so.12"], "lib/libmpi.so.40"),
        ("openmpi", ["bin/mpiexec", "lib/libc.so"], None),
    ],
)
def test_the_library_beside_a_launcher(tmp_path, family, files, expected):
    install(tmp_path, *files)
    found = library.library_beside(tmp_path / files[0], family)
    assert found == (tmp_path / expected if expected else None)


def test_a_generic_name_is_followed_to_the_family_it_belongs_to(tmp_path):
    install(tmp_path, "bin/mpiexec", "lib/libmpi.so.40.30.4")
    (tmp_path / "lib" / "libmpi.so").symlink_to("libmpi.so.40.30.4")
    assert library.library_beside(tmp_path / "bin/mpiexec", "openmpi").name == "libmpi.so"
    assert library.library_beside(tmp_path / "bin/mpiexec", "mpich") is None


def test_a_link_to_a_launcher_is_followed(tmp_path):
    install(tmp_path, "opt/bin/orterun", "opt/lib/libmpi.so.40")
    (tmp_path / "usr" / "bin").mkdir(parents=True)
    link = tmp_path / "usr" / "bin" / "mpiexec"
    link.symlink_to(tmp_path / "opt" / "bin" / "orterun")
    assert library.library_beside(link, "openmpi") == tmp_path / "opt/lib/libmpi.so.40"


@pytest.mark.parametrize(
    ("environ", "job"),
    [
        ({}, None),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, Surrounding(1, 2, "openmpi")),
        ({"PMI_RANK": "0", "PMI_SIZE": "4"}, Surrounding(0, 4, "mpich")),
        ({"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}, Surrounding(1, 2, None)),
        # The shell of a batch job is no rank; a job of one talks to nobody.
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, None),
        ({"PMI_RANK": "0", "PMI_SIZE": "1"}, None),
    ],
)
def test_a_job_is_known_by_its_environment(environ, job):
    assert surrounding(environ) == job


def test_one_rank_speaks():
    assert [speaks(rank, "rank 1 died") for rank in range(3)] == [True, False, False]
    assert [speaks(rank, "rank 0 died") for rank in range(3)] == [False, True, False]


def test_only_orphans_of_this_job_are_removed(tmp_path):
    shm, proc = tmp_path / "shm", tmp_path / "proc"
    for directory in (shm, proc / "1", proc / "self"):
        directory.mkdir(parents=True)
    for name in ("sm_segment.h.0.1.0", "vader_segment.h.0.1.1", "precious", "sm_segment.old"):
        (shm / name).touch()
    os.utime(shm / "sm_segment.old", (1000, 1000))
    mapped = shm / "vader_segment.h.0.1.1"
    (proc / "1" / "maps").write_text(f"7f00-7f01 rw-s 0000 00:19 7   {mapped}\n7f02-7f03 r 0 0 0\n")
    found = shm_cleanup.orphans(since=2000, directory=shm, proc=proc)
    assert found == [shm / "sm_segment.h.0.1.0"]
    shm_cleanup.remove(found)
    assert sorted(path.name for path in shm.iterdir()) == [
        "precious",
        "sm_segment.old",
        "vader_segment.h.0.1.1",
    ]
    shm_cleanup.remove(found)
    assert shm_cleanup.orphans(0, tmp_path / "nowhere", proc) == []
    assert shm_cleanup.mapped_segments(Path("/nowhere")) == set()
