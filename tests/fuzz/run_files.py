"""Mutated run files are loaded, shown in every form, and compared: nothing but UsageError may come
of it."""

import contextlib
import io
import random
import sys
import tempfile
import warnings
from functools import cache, partial
from pathlib import Path
from typing import get_args

import numpy as np

from halftrip import api
from halftrip.cli.compare import compare
from halftrip.cli.explain import explain
from halftrip.cli.history import history
from halftrip.cli.plot import plot
from halftrip.cli.show import ShowRequest, show_runs
from halftrip.errors import HalftripError, UsageError
from halftrip.registry import PLOTS, VIEWS
from halftrip.results.threshold import Acts, Threshold

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.mutate import mutated
from fuzz.trials import Harness, Input, check_line, main
from harness import arrivals, runs

GOLDEN = Path(__file__).parents[1] / "golden" / "formats"
EXPECT = "latency=1us,bandwidth=1GB/s,messages=1M/s"
# What is judged by itself.
ITSELF = "itself"
FORMS = (
    ShowRequest(),
    *(ShowRequest(views=[view]) for view in VIEWS),
    ShowRequest(views=["why"], options=["all"]),
    ShowRequest(rtt=True, wide=True),
    *(ShowRequest(format=name) for name in ("csv", "json", "markdown", "latex")),
    ShowRequest(format="markdown", wide=True),
    ShowRequest(expect=EXPECT, baseline=ITSELF),
    ShowRequest(format="nodes", expect=EXPECT, baseline=ITSELF),
)
EXPLAINED = (partial(explain), partial(explain, at="4K"), partial(explain, format_="json"))
# In a terminal; charts themselves take half a second each.
DRAWN = tuple(partial(plot, kind=kind) for kind in (None, *PLOTS))
# Of several files.
FORMS_OF_SEVERAL = (
    ShowRequest(),
    *(ShowRequest(format=name) for name in ("csv", "json", "markdown", "latex")),
)
# Of a file and a copy of it, which holds the same.
COMPARED = (
    partial(compare, every=True),
    partial(compare, anyway=True, launch_spread="1%", quantile="0.9"),
    *(partial(compare, format_=name) for name in ("csv", "json", "markdown", "junit")),
    partial(history, every=True),
    partial(history, format_="json"),
)
# And of how many files.
_EVERY = [
    *((form, 1) for form in (*FORMS, *EXPLAINED, *DRAWN)),
    *((form, 2) for form in (*FORMS_OF_SEVERAL, *COMPARED)),
]
_FEW_LINES = 6


@cache
def seeds() -> list[list[bytes]]:
    """The lines of the files that are mutated: those of every kind of record, and some with many
    records that fit each other."""
    golden = [path.read_bytes() for path in sorted(GOLDEN.glob("*.jsonl"))]
    found = [content.splitlines(keepends=True) for content in golden]
    found.append(_of_many_kinds())
    found.append(_of_arrivals())
    return found


def _of_many_kinds() -> list[bytes]:
    """A run of several slices, launches, pairs, sizes and patterns, with few samples each."""
    with tempfile.TemporaryDirectory() as folder:
        measured = [
            runs.measurement(
                transport, size, wait, samples=range(900 + 10 * n, 912 + 10 * n), slice=n % 4,
                launch=n, usage=(runs.usage(core={"others": 0.2}), runs.usage(core={})),
                iterations=iterations, pair=pair, pattern=pattern, window=window,
            )
            for transport, wait in (("shm", "spin"), ("tcp", "block:spin"))
            for size in (8, 4096, 65536)
            for pattern, window, iterations in (("pingpong", 1, 1), ("stream", 16, 10))
            for pair in ((0, 1), (1, 2))
            for n in range(2)
        ]  # fmt: skip
        hosts = tuple(runs.environment(rank, host=f"n{rank}") for rank in range(3))
        thresholds = tuple(
            Threshold(
                rank=rank, name=acts, value=4096 << rank, header=64, acts=acts, source="a file",
                transport=transport, cores=[rank], setting="MY_LIMIT",
            )
            for acts in get_args(Acts)
            for transport in ("", "shm", "tcp")
            for rank in range(3)
        )  # fmt: skip
        made = runs.run(*measured, environments=hosts, thresholds=thresholds)
        plan = made.header.plan | {
            "refine": True, "placement_state": "near", "system_log": True, "expect": EXPECT,
            "baseline": "earlier.jsonl", "tolerance": 0.2,
        }  # fmt: skip
        made.header.plan.update(plan)
        return runs.save(made, Path(folder) / "run").read_bytes().splitlines(keepends=True)


def _of_arrivals() -> list[bytes]:
    """A run whose messages arrive at another host, by a clock that was compared."""
    slices = [
        arrivals.block([50_000.0] * 12, [30_000.0] * 12, arrivals.BOOTED + n * arrivals.SECOND, 7)
        for n in range(6)
    ]
    compared = [
        arrivals.comparison(arrivals.BOOTED + n * arrivals.SECOND, 5 + n) for n in range(-1, 8)
    ]
    made, _ = arrivals.ping_pong(slices, compared=compared)
    with tempfile.TemporaryDirectory() as folder:
        return runs.save(made, Path(folder) / "run").read_bytes().splitlines(keepends=True)


def draw_input(draw: random.Random) -> Input:
    lines = draw.choice(seeds())
    if draw.random() < 0.7:
        # Few lines are as good for most mutations, and much faster.
        few = sorted(draw.sample(range(1, len(lines)), min(_FEW_LINES, len(lines) - 1)))
        lines = [lines[0], *(lines[number] for number in few)]
    return Input("jsonl", mutated(lines, draw))


def attempt(tried: Input, folder: Path, draw: random.Random | None = None) -> bool:
    """Loads the file and shows it."""
    path = folder / "run.jsonl"
    path.write_bytes(tried.content)
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        try:
            loaded = api.load(path)
        except UsageError as error:
            check_line(str(error))
            return False
        for line in loaded.problems:
            check_line(line)
        for form, files in _EVERY if draw is None else [draw.choice(_EVERY)]:
            show(path, form, files)
        if draw is None:
            loaded.frame()
            loaded.frame(slices=True)
        return True


def show(path: Path, form: ShowRequest | partial[int], files: int) -> None:
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        try:
            if isinstance(form, ShowRequest):
                own = str(path) if form.baseline == ITSELF else form.baseline
                show_runs([str(path)] * files, form._replace(baseline=own))
            elif form in EXPLAINED:
                form(str(path))
            else:
                form([str(_copied(path, number)) for number in range(files)])
        except HalftripError as error:
            check_line(str(error))
    text = shown.getvalue()
    # The columns of some styles are between tabs.
    plain = text.replace("\t", "") if getattr(form, "style", None) is not None else text
    assert plain.replace("\n", "").isprintable(), f"{form} prints control characters"


def _copied(path: Path, number: int) -> Path:
    """A copy of the file: a run is not compared with itself."""
    copy = path.with_name(f"copy{number}.jsonl")
    copy.write_bytes(path.read_bytes())
    return copy


HARNESS = Harness("run_files", draw_input, attempt)

if __name__ == "__main__":
    sys.exit(main(HARNESS))
