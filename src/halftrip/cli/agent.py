"""``halftrip agent``, which ``halftrip run --hosts`` starts on each host."""

from __future__ import annotations

from halftrip.cli import app


@app.command("agent", hidden=True)
def agent() -> int:
    """Start ranks on this host, for a launcher on another one that writes to the standard input."""
    from halftrip.job.agent import main as start_ranks

    return start_ranks()
