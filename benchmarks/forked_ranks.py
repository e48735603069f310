"""Whether ranks that are forks of one process measure what fresh ones do.

    python benchmarks/forked_ranks.py --launches 50

For each path, launches of both kinds in turn, A B A B; a launch's figure is the median of its
samples. `p` is how often two halves of all these figures, dealt by chance, have distributions that
are as far apart (Kolmogorov and Smirnov's distance) as those of the two kinds.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from collections.abc import Iterator
from unittest import mock

import numpy as np

import halftrip
from halftrip.job import forks
from halftrip.stats.series import configuration_times, summarize_configuration

PATHS = {
    "simulated 8 B": {"transport": "simulated", "sizes": "8"},
    "shm 8 B": {"transport": "shm", "sizes": "8"},
    "pipe 8 B": {"transport": "pipe", "sizes": "8"},
    "tcp 8 B": {"transport": "tcp", "sizes": "8"},
    "tcp 64 KiB": {"transport": "tcp", "sizes": "64K"},
}
SHUFFLES = 10_000


@contextlib.contextmanager
def kind(forked: bool) -> Iterator[None]:
    """Meanwhile ranks are forks, or fresh."""
    if forked:
        yield
        return
    with mock.patch.object(forks, "server", return_value=None):
        yield


def latency(plan: dict[str, str], forked: bool, seconds: str) -> float:
    """The median latency of one launch, us."""
    with tempfile.TemporaryDirectory() as directory, kind(forked):
        path = os.path.join(directory, "run.jsonl")
        run = halftrip.run(plan, time=seconds, launches=1, output=path)
    (measured,) = run.by_configuration.values()
    times = configuration_times(measured)
    return summarize_configuration(times).latency * 1e-3


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Between two distributions: the largest difference of their cumulative ones."""
    where = np.concatenate([a, b])
    below = [np.searchsorted(np.sort(each), where, side="right") / len(each) for each in (a, b)]
    return float(np.abs(below[0] - below[1]).max())


def p_value(a: np.ndarray, b: np.ndarray) -> float:
    rng = np.random.default_rng(1)
    pooled, found = np.concatenate([a, b]), distance(a, b)
    shuffled = (rng.permutation(pooled) for _ in range(SHUFFLES))
    return float(np.mean([distance(x[: len(a)], x[len(a) :]) >= found for x in shuffled]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=50, help="of each kind and path")
    parser.add_argument("--time", default="50ms", help="that a launch samples for")
    parser.add_argument("--only", choices=PATHS, action="append", help="only this path")
    options = parser.parse_args()
    kinds = "".join(f"{kind:>10} us   {'quartiles':14}" for kind in ("forked", "fresh"))
    print(f"{'path':14}{kinds}  ratio   p      load")
    for name in options.only or PATHS:
        figures: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(options.launches):
            for forked, of_kind in figures.items():
                of_kind.append(latency(PATHS[name], forked, options.time))
        a, b = (np.array(figures[forked]) for forked in (True, False))
        cells = [name.ljust(14)]
        for each in (a, b):
            low, middle, high = np.quantile(each, [0.25, 0.5, 0.75])
            cells.append(f"{middle:10.4g}   {low:.4g} to {high:.4g}".ljust(29))
        ratio = np.median(a) / np.median(b)
        cells.append(f"{ratio:5.3f}   {p_value(a, b):.3f}  {os.getloadavg()[0]:.1f}")
        print(*cells, flush=True)


if __name__ == "__main__":
    main()
