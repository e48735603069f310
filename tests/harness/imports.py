"""Samples of what other tools print, the texts of their authors, what importers make of them, and
what styles print."""

import msgspec
import pytest

from halftrip.errors import HalftripError
from halftrip.registry import STYLES
from halftrip.report.document import document
from halftrip.results.reported import StatedInterval
from halftrip.results.run_file import assemble
from halftrip.tools.importing import Text, import_texts
from halftrip.tools.told import Told
from harness.files import ROOT
from harness.need import need

# A folder for each importer, by its name.
SAMPLES = ROOT / "tests" / "golden" / "imports"
_SHARED = ROOT.parent / "shared"

# What others print into a log.
NOISE = [
    "Job 4711 starts on n1,n2",
    "real 2.59",
    "real\t0m2.594s",
    "Currently Loaded Modulefiles:\n  1) gcc/12.2   2) openmpi/4.1.5",
    "+ mpirun -n 2 ./osu_bw",
    "[1732720000.123456] [n1:4711 :0]  parser.c:2036 UCX  WARN  unused environment variable",
    "slurmstepd: error: *** STEP 4711.0 ON n1 CANCELLED ***",
    "{\"timestamp\":1724897419.2,\"name\":\"init\"}",
    "```",
    "2 nodes are in use",
    "",
]  # fmt: skip


def sample(tool, name, *changes):
    """The text of a sample, `name.txt` unless its name has another ending, in which each `(old,
    new)` has been replaced."""
    text = (SAMPLES / tool / (name if "." in name else f"{name}.txt")).read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def reference(number):
    """The published text of this number, as bytes. It is its author's, and no part of the
    repository: skips the test in a clone that has no such texts beside it, also in CI."""
    if not _SHARED.is_dir():
        pytest.skip("the published texts of other tools are not beside this clone")
    found = sorted(_SHARED.glob(f"references/{number:03d}_*.txt"))
    need(len(found) == 1, f"published text {number} of other tools is in {_SHARED}/references")
    return found[0].read_bytes()


def imported(*contents, tool=None, **told):
    """What is made of texts, of which `told` is said. Raises HalftripError for none."""
    texts = [
        Text(each.encode() if isinstance(each, str) else each, f"source{number or ''}.txt")
        for number, each in enumerate(contents)
    ]
    return import_texts(texts, tool, Told(**told))


def said_of(content, tool=None):
    """What is said to be left out of a text, in one text."""
    try:
        return "\n".join(imported(content, tool=tool).left_out)
    except HalftripError as error:
        return str(error)


def imported_run(content, tool=None, **told):
    """The run that a text is, of which `told` is said; raises HalftripError for none."""
    header, *rest = imported(content, tool=tool, **told).records
    return assemble(header, rest)


def stating(run, low, high, level=0.99):
    """The run, whose source has stated this interval of each row's mean, one-way us."""
    interval = StatedInterval(low=1e3 * low, high=1e3 * high, level=level, of="mean")
    replace = msgspec.structs.replace
    found = (replace(each, reported=replace(each.reported, interval=interval))
             for each in run.measurements)  # fmt: skip
    return replace(run, measurements=tuple(found))


def measured(content, tool=None):
    """The measurements of a text by pattern, buffers and size, in the order of its lines."""
    return list(imported_run(content, tool).measurements)


def one_way(measurement):
    """The one-way time of a measurement of a single figure, ns."""
    configuration = measurement.configuration
    messages = measurement.iterations * configuration.messages_per_iteration
    return float(measurement.samples[0]) / messages


def in_style(run, style):
    """The run as that tool prints it."""
    return STYLES.load(style)(document(run, flags=False))


def causes(run):
    """The causes of rows by transport, variant's values, and size."""
    return {
        (tuple(dict(row.configuration.variant).values()), row.configuration.size): row.verdict.cause
        for row in document(run).rows
    }


def figure(found, name):
    """One of a measurement, of its configuration, or of what was printed."""
    if name == "one_way":
        return one_way(found)
    if name == "sample":
        return int(found.samples[0])
    if name == "responder_memory":
        return found.configuration.responder.memory
    owners = (found.reported, found.configuration, found)
    return next(getattr(each, name) for each in owners if hasattr(each, name))
