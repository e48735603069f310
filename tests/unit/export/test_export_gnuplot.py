"""gnuplot draws what is exported."""

import re
import shutil
import subprocess

import pytest

from halftrip.errors import UsageError
from halftrip.export.gnuplot import files, fitted
from halftrip.report.document import Document, document
from halftrip.results.counts import Delivery
from halftrip.results.run_file import load
from harness import runs
from harness.files import RUN_FILES
from harness.need import need

SIZES = (1, 64, 4096, 65536)


@pytest.fixture
def gnuplot():
    found = shutil.which("gnuplot")
    need(found is not None, "gnuplot is missing: apt-get install gnuplot-nox")
    return found


def a_run(**changes):
    """Latencies of 1000 ns + 0.5 ns for each byte."""
    return runs.run(
        *(
            runs.measurement(transport, size, half_ns=1000 + 0.5 * size, slice=n, seed=n, **changes)
            for transport in ("tcp", "it's`x`")
            for size in SIZES
            for n in range(6)
        )
    )


def draw(gnuplot, folder, run, *options):
    found = run if isinstance(run, Document) else document(run)
    for suffix, content in files(found).items():
        (folder / f"a b{suffix}").write_text(content)
    done = subprocess.run(
        [gnuplot, *options, "a b.gnuplot"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_picture_has_the_labels_of_all_curves(gnuplot, tmp_path):
    draw(gnuplot, tmp_path, a_run())
    picture = (tmp_path / "a b.svg").read_text()
    said = re.sub(r"<[^>]*>", "", picture).replace("&#39;", "'").replace("&apos;", "'")
    for label in (
        "tcp pingpong, wait spin",
        "it's`x` pingpong, wait spin",
        "time of one message, one way, us",
        "throughput, one direction, 10^6 bytes/s",
        "message size, bytes (K = 1024)",
        "64K",
    ):
        assert label in said, label
    assert picture.rstrip().endswith("</svg>")


def test_whatever_a_run_has_is_drawn(gnuplot, tmp_path):
    draw(gnuplot, tmp_path, a_run(), "-e", "picture='c.png'")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    # Rates without intervals, a single size, and a stream of which nothing arrived.
    draw(gnuplot, tmp_path, runs.run(runs.stream(), runs.measurement(samples=[5000])))
    delivery = Delivery(sent=1000, lost=1000, reordered=0, jitter=None)
    draw(gnuplot, tmp_path, runs.run(runs.stream(delivery=delivery)))
    # An interval that reaches zero ends at the edge: a logarithmic axis has no 0.
    found = document(a_run())
    rows = [row._replace(summary=row.summary._replace(low=-5.0)) for row in found.rows]
    draw(gnuplot, tmp_path, found._replace(rows=rows))


@pytest.mark.parametrize("path", RUN_FILES, ids=lambda path: path.stem)
def test_runs_of_every_kind_are_drawn(gnuplot, tmp_path, path):
    draw(gnuplot, tmp_path, load(path))


def test_the_data_are_the_figures_of_the_rows():
    run = a_run()
    blocks = files(document(run))[".dat"].split("\n\n\n")
    rows = document(run).rows
    lines = [line for block in blocks for line in block.splitlines() if not line.startswith("#")]
    assert len(blocks) == 2
    assert len(lines) == len(rows) == 8
    for line, row in zip(lines, rows, strict=True):
        size, latency, low, high, throughput, least, most, verdict, _state = line.split()
        assert int(size) == row.configuration.size
        summary = row.summary
        assert [float(latency), float(low), float(high)] == pytest.approx(
            [ns / 1e3 for ns in (summary.latency, summary.low, summary.high)]
        )
        assert float(throughput) == pytest.approx(row.summary.bandwidth / 1e6)
        assert float(least) <= float(throughput) <= float(most)
        assert verdict == row.verdict.word
    script = files(document(run))[".gnuplot"]
    found = re.search(r"^t_0\(x\) = (\S+) \+ (\S+) \* x$", script, re.MULTILINE)
    assert float(found[1]) == pytest.approx(1.0, rel=0.05)
    assert float(found[2]) == pytest.approx(0.0005, rel=0.01)
    assert float(re.search(r" us \+ (\S+) ns/byte", script)[1]) == pytest.approx(0.5, rel=0.01)


def test_without_sizes_there_is_no_line_and_no_picture():
    assert fitted([(8, 1.0), (8, 2.0)]) is None
    with pytest.raises(UsageError, match=r"^--to gnuplot: the run has no row with a size"):
        files(document(runs.run(runs.measurement(size=0))))
