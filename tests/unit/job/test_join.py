"""A rank that joins a job: which options fit the job, and what happens if rank 0 has no file, or is
not reached by all."""

import pytest

from halftrip.control.network import Network
from halftrip.control.protocol import Abort
from halftrip.errors import HalftripError, UsageError
from halftrip.job import join
from halftrip.job.existing import ExistingJob
from halftrip.job.join import check_fit
from halftrip.job.resumption import Resumption
from halftrip.job.view import NoView
from halftrip.plan.launches import undealt
from halftrip.plan.layers import make_plan, python_layer
from halftrip.plan.plan import Plan
from harness.groups import TOKEN, in_group


def fit(size=2, **keys):
    check_fit(ExistingJob(0, size, None, "PMI_RANK"), undealt(make_plan(python_layer(keys))))


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
        (
            {"launches": 2},
            "--launches: this job was started once; start it again as often by itself",
        ),
        ({"vary": {"env.X": ["1"]}}, "--vary: this job was started once, with one environment"),
        ({"until_ci": True}, "--until-ci: this job was started once; start it again as often"),
    ],
)
def test_an_option_that_does_not_fit_the_job_is_one_line(keys, said):
    with pytest.raises(UsageError, match=f"^{said}"):
        fit(**keys)


@pytest.mark.parametrize("kind", [HalftripError, UsageError])
def test_all_ranks_fail_where_rank_0_cannot_create_the_file(kind):
    def create():
        raise kind("no space left")

    results = in_group(3, lambda group: join._create(group, create))
    assert [type(result) for result in results] == [kind] * 3
    assert {str(result) for result in results} == {"no space left"}


def test_there_is_no_file_while_the_machine_is_looked_at(monkeypatch):
    """A signal that arrives then would leave one that does not say why it ended."""
    created = []

    def create():
        created.append(True)

    def look(*_):
        raise KeyboardInterrupt

    def work(group):
        monkeypatch.setattr(join, "start_group", lambda *_: group)
        return join.join(
            ExistingJob(0, 2, None, "PMI_RANK"), Plan(), create, NoView(), Resumption()
        )

    monkeypatch.setattr(join, "look_in_job", look)
    (result,) = in_group(1, work)
    assert isinstance(result, KeyboardInterrupt)
    assert created == []


def test_where_one_rank_cannot_reach_rank_0_all_end_with_a_reason(monkeypatch):
    connect = join.connect

    def connect_some(address, token, hello, seconds, network):
        if hello.rank == 2:
            raise OSError(113, "no way to port 1")
        return connect(address, token, hello, seconds, network=network)

    def work(group):
        (channel,) = join.connect_to_rank_0(group, TOKEN, Network())
        message = channel.receive()
        channel.close()
        return message

    monkeypatch.setattr(join, "connect", connect_some)
    monkeypatch.setattr(join, "_CONNECT_SECONDS", 0.5)
    results = in_group(3, work)
    assert str(results[0]) == "1 of 2 ranks could not reach rank 0 in 0 s"
    assert results[1] == Abort(str(results[0]))
    assert "rank 2 cannot reach rank 0: [Errno 113] no way to port 1" in str(results[2])
