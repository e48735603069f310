"""What a plan may ask of a job that somebody else has started."""

import pytest

from halftrip.errors import UsageError
from halftrip.job.join import Surrounding, check_fit
from halftrip.plan.plan import make_plan, python_layer


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
def test_what_a_job_is_not_is_one_line(keys, said):
    with pytest.raises(UsageError, match=f"^{said}"):
        fit(**keys)
