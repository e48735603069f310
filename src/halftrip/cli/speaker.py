"""In a job that another launcher has started, only one rank speaks to the user."""

from __future__ import annotations

import os

from halftrip.job.existing import existing_job
from halftrip.job.existing import speaks as rank_speaks


def in_job() -> bool:
    """Whether another launcher has started this process as one of several ranks."""
    return existing_job(os.environ) is not None


def speaks(message: str = "") -> bool:
    """Whether this process is the one to print `message`."""
    job = existing_job(os.environ)
    return job is None or rank_speaks(job.rank, message)
