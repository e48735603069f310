"""Mutated outputs of other tools are imported, written, read again, and shown and exported in every
form: nothing but UsageError may come of it.

    python tests/fuzz/imports.py --inputs 1000000 --seed 1

tries so many inputs, in as many processes as there are processors, and leaves those that failed in
`cases/imports`, where the tests find them for ever.
"""

import argparse
import contextlib
import hashlib
import io
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from halftrip.cli.exporting import export_run
from halftrip.cli.show import Shown
from halftrip.convert.importing import imported
from halftrip.errors import UsageError
from halftrip.registry import EXPORTS, FORMATS, IMPORTERS, STYLES
from halftrip.results.reading import decode
from halftrip.results.records import Measurement, Record
from halftrip.results.run_file import encode, load

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.mutate import mutated
from fuzz.run_files import MOST_MEMORY, VIEWS, Failure, check_line, show, time_limit
from harness.files import ROOT

CASES = Path(__file__).parent / "cases" / "imports"
SAMPLES = ROOT / "tests" / "golden" / "imports"
REFERENCES = ROOT.parent / "shared" / "references"
# In what each accepted input is shown beside the first screen: a view, and another form or export.
SHOWN = [Shown(views=[view]) for view in VIEWS]
FORMS = [
    *(Shown(format=name) for name in FORMATS),
    *(Shown(style=name) for name in STYLES),
    Shown(rtt=True, wide=True),
    Shown(views=["why"], every=True),
]
# What a case is called that names no tool.
_ANY = "any"


class Input(NamedTuple):
    """A text, the tool that it is said to be of (None: nothing is said), and which of the forms are
    its own: a number, so that all have their turn."""

    content: bytes
    tool: str | None
    turn: int


def seeds() -> list[list[bytes]]:
    """The lines of the texts that are mutated."""
    paths = [*sorted(SAMPLES.glob("*/*")), *sorted(REFERENCES.glob("*.txt"))]
    return [path.read_bytes().splitlines(keepends=True) for path in paths]


def input_of(seed: int, number: int, texts: list[list[bytes]]) -> Input:
    """Input `number` of those that come of `seed`."""
    draw = random.Random(f"{seed} {number}")
    content = mutated(draw.choice(texts), draw)
    return Input(content, draw.choice((None, None, draw.choice(list(IMPORTERS)))), number)


def try_input(tried: Input, path: Path, every: bool = False) -> bool:
    """Imports a text, and shows it, in `every` form, or in those whose turn it is. Returns whether
    it was accepted. Raises what is wrong, if anything is."""
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        try:
            found = imported(tried.content, "source.txt", tried.tool)
        except UsageError as error:
            check_line(str(error))
            return False
        _check_run_file(found, path)
        exports = list(EXPORTS)
        # Each in turn, and not always the same together.
        of = tried.turn
        shown = [*SHOWN, *FORMS] if every else [SHOWN[of % len(SHOWN)], FORMS[of % len(FORMS)]]
        for form in (Shown(), *shown):
            show(path, form, 1)
        for to in exports if every else [exports[of % len(exports)]]:
            _export(path, to)
        return True


def _check_run_file(found: list[Record], path: Path) -> None:
    """Writes the run file, and checks that it says what was imported."""
    written = [encode(record) for record in found]
    assert [encode(decode(line)) for line in written] == written
    path.write_bytes(b"".join(written))
    loaded = load(path)
    assert not loaded.problems, loaded.problems
    measurements = [encode(each) for each in found if isinstance(each, Measurement)]
    assert [encode(each) for each in loaded.measurements] == measurements


def _export(path: Path, to: str) -> None:
    said = contextlib.redirect_stdout(io.StringIO())
    with tempfile.TemporaryDirectory(dir=path.parent) as folder, said:
        try:
            made = export_run(str(path), to, str(Path(folder) / "made"), force=False)
        except UsageError as error:
            check_line(str(error))
            return
    assert made == 0


def failure_of(tried: Input, path: Path, every: bool = False) -> Failure | None:
    """What is wrong with this input; None if nothing is."""
    failure, _ = outcome(tried, path, every)
    return failure


def outcome(tried: Input, path: Path, every: bool = False) -> tuple[Failure | None, bool]:
    """What is wrong with this input, and whether it was accepted."""
    try:
        with time_limit():
            return None, try_input(tried, path, every)
    except Exception:  # noqa: BLE001 (whatever it is, it is a failure)
        return Failure(tried.content, traceback.format_exc(limit=-3)), True


def _try_range(arguments: tuple[int, int, int]) -> tuple[int, list[tuple[Input, Failure]]]:
    """Tries the inputs of these numbers of a seed: how many were accepted, and what failed."""
    seed, begin, end = arguments
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    os.environ["COLUMNS"] = "100"
    texts, accepted, failed = seeds(), 0, []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        for number in range(begin, end):
            tried = input_of(seed, number, texts)
            failure, was_accepted = outcome(tried, path)
            accepted += was_accepted
            if failure is not None:
                failed.append((tried, failure))
    return accepted, failed


def keep(tried: Input) -> Path:
    """Writes the input into `cases/imports`."""
    CASES.mkdir(exist_ok=True, parents=True)
    path = CASES / f"{hashlib.sha256(tried.content).hexdigest()[:12]}.{tried.tool or _ANY}"
    path.write_bytes(tried.content)
    return path


def case(path: Path) -> Input:
    """The input that was kept there."""
    tool = path.suffix.removeprefix(".")
    return Input(path.read_bytes(), None if tool == _ANY else tool, 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--inputs", type=int, default=10_000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--seed", type=int, default=1, help="what they come of")
    parser.add_argument("--seconds", type=float, help="no longer than this")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    part, began, tried, accepted = 250, time.monotonic(), 0, 0
    kinds: dict[str, int] = {}
    last = options.first + options.inputs
    parts = [
        (options.seed, begin, min(begin + part, last)) for begin in range(options.first, last, part)
    ]
    with multiprocessing.Pool(options.processes) as pool:
        for (_, begin, end), found in zip(parts, pool.imap(_try_range, parts), strict=True):
            tried += end - begin
            accepted += found[0]
            for each, failure in found[1]:
                kinds[failure.kind] = kinds.get(failure.kind, 0) + 1
                if kinds[failure.kind] == 1:
                    print(f"{keep(each)}:\n{failure.why}", flush=True)
            if tried % 10_000 == 0:
                print(f"{tried:,} inputs, {time.monotonic() - began:.0f} s", flush=True)
            if options.seconds is not None and time.monotonic() - began > options.seconds:
                pool.terminate()
                break
    seconds = time.monotonic() - began
    print(
        f"{tried:,} inputs, {accepted:,} accepted, {sum(kinds.values()):,} failed, "
        f"{len(kinds)} kinds, {seconds:.0f} s"
    )
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
