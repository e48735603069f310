"""A job that somebody else has started: what a plan may ask of it, and how its ranks begin."""

import pytest

from halftrip.control.protocol import Abort
from halftrip.errors import HalftripError, UsageError
from halftrip.job import join
from halftrip.job.join import Surrounding, check_fit, speaks, surrounding
from halftrip.plan.layers import make_plan, python_layer
from halftrip.plan.plan import Plan
from harness.groups import TOKEN, in_group


def fit(size=2, **keys):
    check_fit(Surrounding(0, size, None), make_plan(python_layer(keys)))


def test_cores_are_one_for_each_thread_of_each_rank():
    fit(cores="0,1")
    fit(cores="0-3", threads=2)
    with pytest.raises(UsageError, match="--cores: 4 cores for 2 ranks; one for each"):
        fit(cores="0-3")
    with pytest.raises(UsageError, match="6 cores for 2 ranks of 2 threads; one for each"):
        fit(cores="0-5", threads=2, ranks=3, pairs="all")
    with pytest.raises(UsageError, match="--cores: 2 cores for 4 ranks; one for each"):
        fit(size=4, cores="0,1")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"launcher": "local"}, "--launcher: the job that this runs in has been started"),
        ({"ranks": 4}, "--ranks: 4 asked for, but this job has 2"),
        ({"launches": 2}, "--launches: this job was started once"),
        ({"until_ci": True}, "--until-ci: this job was started once"),
    ],
)
def test_an_option_that_does_not_fit_the_job_is_one_line(keys, said):
    with pytest.raises(UsageError, match=f"^{said}"):
        fit(**keys)


@pytest.mark.parametrize("kind", [HalftripError, UsageError])
def test_all_ranks_fail_where_rank_0_cannot_create_the_file(kind):
    def create(plan):
        raise kind("no space left")

    results = in_group(3, lambda group: join._create(group, Plan(), create))
    assert [type(result) for result in results] == [kind] * 3
    assert {str(result) for result in results} == {"no space left"}


def test_where_one_rank_cannot_reach_rank_0_all_end_with_a_reason(monkeypatch):
    connect = join.connect

    def connect_some(address, hello):
        if hello.rank == 2:
            raise OSError(113, "no way to port 1")
        return connect(address, hello)

    def work(group):
        (channel,) = join._lifelines(group, TOKEN)
        message = channel.receive()
        channel.close()
        return message

    monkeypatch.setattr(join, "connect", connect_some)
    monkeypatch.setattr(join, "_CONNECT_SECONDS", 0.5)
    results = in_group(3, work)
    assert str(results[0]) == "1 of 2 ranks could not reach rank 0 in 0 s"
    assert results[1] == Abort(str(results[0]))
    assert "rank 2 cannot reach rank 0: [Errno 113] no way to port 1" in str(results[2])


@pytest.mark.parametrize("size", ["²", "x", "", "-2"])
def test_a_size_that_is_no_number_is_no_job(size):
    assert surrounding({"PMI_RANK": "0", "PMI_SIZE": size}) is None


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


def test_exactly_one_rank_tells_the_user():
    assert [speaks(rank, "rank 1 died") for rank in range(3)] == [True, False, False]
    assert [speaks(rank, "rank 0 died") for rank in range(3)] == [False, True, False]
