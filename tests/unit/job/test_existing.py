"""A job that another launcher has started: how it is recognised, and which of its ranks speaks."""

import importlib

import pytest

from halftrip.job import existing
from halftrip.job.existing import ExistingJob, existing_job, speaks


@pytest.mark.parametrize(
    ("environ", "job"),
    [
        ({}, None),
        (
            {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"},
            ExistingJob(1, 2, "openmpi", "OMPI_COMM_WORLD_RANK"),
        ),
        ({"PMI_RANK": "0", "PMI_SIZE": "4"}, ExistingJob(0, 4, "mpich", "PMI_RANK")),
        (
            {"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "2"},
            ExistingJob(3, 4, "mpich", "PMI_RANK", here=2),
        ),
        (
            {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"},
            ExistingJob(1, 2, None, "SLURM_PROCID"),
        ),
        # The shell of a batch job is no rank; a job of one talks to nobody.
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, None),
        ({"PMI_RANK": "0", "PMI_SIZE": "1"}, None),
        *(({"PMI_RANK": "0", "PMI_SIZE": size}, None) for size in ("²", "x", "", "-2")),
    ],
)
def test_a_job_is_known_by_its_environment(environ, job):
    assert existing_job(environ) == job


def test_exactly_one_rank_tells_the_user():
    assert [speaks(rank, "rank 1 died") for rank in range(3)] == [True, False, False]
    assert [speaks(rank, "rank 0 died") for rank in range(3)] == [False, True, False]


def test_the_command_knows_ranks_by_the_same_variables(monkeypatch):
    """It has a list of its own: an import would leave more time for an interrupt before it."""
    monkeypatch.setattr("_signal.signal", lambda number, handler: None)
    command = importlib.import_module("halftrip.__main__")
    assert {rank: size for rank, size, _, _ in existing._VARIABLES} == command._RANKS
