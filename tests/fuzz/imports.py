"""Mutated outputs of other tools are imported, written, read again, and shown or exported: nothing
but UsageError may come of it."""

import contextlib
import functools
import io
import random
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from halftrip.cli.export import export
from halftrip.cli.show import ShowRequest
from halftrip.errors import HalftripError, UsageError
from halftrip.registry import EXPORTS, FORMATS, IMPORTERS, STYLES, VIEWS
from halftrip.results.reading import decode
from halftrip.results.records import Measurement, Record
from halftrip.results.run_file import encode, load
from halftrip.tools.importing import Text, import_texts

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.mutate import mutated
from fuzz.run_files import show
from fuzz.trials import Harness, Input, check_line, main
from harness.imports import SAMPLES

# In what an accepted input is shown, and to what it is exported.
FORMS = [
    ShowRequest(),
    *(ShowRequest(views=[view]) for view in VIEWS),
    *(ShowRequest(format=name) for name in FORMATS),
    *(ShowRequest(style=name) for name in STYLES),
    ShowRequest(rtt=True, wide=True),
    ShowRequest(views=["why"], options=["all"]),
    *EXPORTS,
]
# What an input is said to be that names no tool.
ANY = "any"


@functools.cache
def texts() -> list[list[bytes]]:
    """The lines of the texts that are mutated."""
    return [path.read_bytes().splitlines(keepends=True) for path in sorted(SAMPLES.glob("*/*"))]


def draw_input(draw: random.Random) -> Input:
    content = mutated(draw.choice(texts()), draw)
    return Input(draw.choice((ANY, ANY, draw.choice(list(IMPORTERS)))), content)


def attempt(tried: Input, folder: Path, draw: random.Random | None = None) -> bool:
    """Imports a text, and shows it."""
    path = folder / "run.jsonl"
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        try:
            tool = None if tried.what == ANY else tried.what
            found, left_out = import_texts([Text(tried.content, "source.txt")], tool)
        except HalftripError as error:
            check_line(str(error))
            return False
        for line in left_out:
            check_line(line)
        _check_run_file(found, path)
        for form in FORMS if draw is None else [draw.choice(FORMS)]:
            if isinstance(form, ShowRequest):
                show(path, form, 1)
            else:
                _export(path, form)
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
            made = export(to, str(path), output=str(Path(folder) / "made"))
        except UsageError as error:
            check_line(str(error))
            return
    assert made == 0


HARNESS = Harness("imports", draw_input, attempt)

if __name__ == "__main__":
    sys.exit(main(HARNESS))
