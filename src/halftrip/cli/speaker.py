"""In a job of many ranks one of them speaks to the user."""

from __future__ import annotations

import os

from halftrip.job.join import speaks as rank_speaks
from halftrip.job.join import surrounding


def in_job() -> bool:
    """Whether somebody else has started this process as one of several ranks."""
    return surrounding(os.environ) is not None


def speaks(message: str = "") -> bool:
    """Whether this process is the one to print `message`."""
    job = surrounding(os.environ)
    return job is None or rank_speaks(job.rank, message)
