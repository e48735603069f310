"""Samples of what other tools print, and the measurements that an importer makes of them."""

from pathlib import Path

from halftrip.results.records import Measurement
from halftrip.results.run_file import encode, load
from halftrip.tools.importing import imported

# A folder for each importer, by its name.
SAMPLES = Path(__file__).parents[1] / "golden" / "imports"


def sample(tool, name, *changes):
    """The text of a sample, `name.txt` unless its name has another ending, in which each `(old,
    new)` has been replaced."""
    text = (SAMPLES / tool / (name if "." in name else f"{name}.txt")).read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def read(content, folder, tool=None):
    """The run that a text is, through a run file in a folder."""
    content = content if isinstance(content, bytes) else content.encode()
    path = folder / "imported.jsonl"
    path.write_bytes(b"".join(encode(each) for each in imported(content, "a text", tool)))
    return load(path)


def measured(content, tool=None):
    """The measurements of a text by pattern, buffers and size, in the order of its lines."""
    content = content if isinstance(content, bytes) else content.encode()
    records = imported(content, "a text", tool)
    return [each for each in records if isinstance(each, Measurement)]


def one_way(measurement):
    """The one-way time of a measurement of a single figure, ns."""
    configuration = measurement.configuration
    messages = measurement.iterations * configuration.messages_per_iteration
    return float(measurement.samples[0]) / messages
