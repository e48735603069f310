"""Mutated outputs of other tools are imported, written, read again, and shown or exported: nothing
but UsageError may come of it."""

import contextlib
import functools
import io
import itertools
import quopri
import random
import re
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from halftrip.analysis.summaries import summarize_measurement
from halftrip.cli.export import export
from halftrip.cli.show import ShowRequest
from halftrip.errors import HalftripError, UsageError
from halftrip.registry import EXPORTS, FORMATS, IMPORTERS, STYLES, VIEWS
from halftrip.results.configuration import UNKNOWN
from halftrip.results.reading import decode
from halftrip.results.records import Measurement, Record
from halftrip.results.run_file import encode, load
from halftrip.tools.importing import Text, import_texts

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.mutate import mutated
from fuzz.run_files import show
from fuzz.trials import Harness, Input, check_line, main
from harness.imports import NOISE, SAMPLES

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
# One whose rows are those of the texts, as lines of these are changed alone.
LOG = "log"


@functools.cache
def texts() -> list[list[bytes]]:
    """The lines of the texts that are mutated."""
    return [path.read_bytes().splitlines(keepends=True) for path in sorted(SAMPLES.glob("*/*"))]


Times = dict[tuple[str, int | None], set[float]]
# Of a time: netperf says the mean of its latencies, and the inverse of a rate.
_SLACK = 2e-3


@functools.cache
def known() -> Times:
    """What the texts say of messages, as they are."""
    found: Times = {}
    for lines in texts():
        # A log of messages without its heading is a summary alone; other lines go before others.
        without = [line for line in lines if not re.match(rb"packet, txTime|.*t_typical", line)]
        whole = [Text(b"".join(each), "source.txt") for each in (lines, without)]
        for (pattern, size), times in said(import_texts(whole).records).items():
            # The lines that say the pattern and the size may be lost.
            for key in itertools.product((pattern, UNKNOWN), (size, None)):
                found.setdefault(key, set()).update(times)
    return found


def said(records: list[Record]) -> Times:
    """The times of a message one way, or bandwidths where no time is known, by pattern and size."""
    found: Times = {}
    for each in records:
        if isinstance(each, Measurement):
            configuration = each.configuration
            key = configuration.known_pattern, configuration.known_size
            time = summarize_measurement(each).latency
            amounts = {time} if each.reported else {*(each.one_way_times).tolist()}
            if each.reported and each.reported.bandwidth is not None:
                # The size may be lost, without which there is none.
                found.setdefault((key[0], None), set()).add(each.reported.bandwidth)
            found.setdefault(key, set()).update(each for each in amounts if each == each)
    return found


def wrong(records: list[Record]) -> list[object]:
    """What no text says."""
    return [
        (key, time)
        for key, times in said(records).items()
        for time in times
        if all(abs(time - each) > _SLACK * each for each in known().get(key, ()))
    ]


def log(draw: random.Random) -> bytes:
    """One text or several, of which lines are lost, doubled, exchanged, cut off or between others'
    lines."""
    whole: list[bytes] = []
    for text in draw.choices(texts(), k=draw.choice((1, 1, 2, 3))):
        lines = [line.rstrip(b"\n") + b"\n" for line in text]
        for _ in range(draw.choice((1, 1, 2, 4))):
            place = draw.randrange(len(lines))
            match draw.randrange(6):
                case 0:
                    del lines[place]
                case 1:
                    lines.insert(place, lines[place])
                case 2:
                    other = min(place + 1, len(lines) - 1)
                    lines[place], lines[other] = lines[other], lines[place]
                case 3 if not lines[place].startswith(b"Message size"):
                    lines[place] = lines[place][: draw.randrange(len(lines[place]) + 1)] + b"\n"
                case 4:
                    lines[place:] = [lines[place][: draw.randrange(len(lines[place]) + 1)]]
                    # Nothing comes behind it.
                    break
                case _:
                    lines.insert(place, draw.choice(NOISE).encode() + b"\n")
            lines = lines or [b"\n"]
        whole += [*lines, *[b"\n"] * draw.randrange(2)]
    log = b"".join(whole)
    # As a mail has it, or not.
    return quopri.encodestring(log) if draw.random() < 0.1 else log


def draw_input(draw: random.Random) -> Input:
    if draw.random() < 0.5:
        return Input(LOG, log(draw))
    content = mutated(draw.choice(texts()), draw)
    return Input(draw.choice((ANY, ANY, draw.choice(list(IMPORTERS)))), content)


def attempt(tried: Input, folder: Path, draw: random.Random | None = None) -> bool:
    """Imports a text, and shows it."""
    path = folder / "run.jsonl"
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        try:
            tool = None if tried.what in (ANY, LOG) else tried.what
            found, left_out = import_texts([Text(tried.content, "source.txt")], tool)
        except HalftripError as error:
            check_line(str(error))
            return False
        for line in left_out:
            check_line(line)
        if tried.what == LOG:
            assert not wrong(found), wrong(found)
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
