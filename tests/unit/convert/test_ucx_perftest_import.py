"""ucx_perftest: which test it is, the size of a message, and what a row's time is."""

import pytest

from halftrip.errors import UsageError
from harness.imports import imported_run
from harness.samples import measured, one_way, sample

TOOL = "ucx-perftest"
_BOX = """\
| API:          protocol layer                                     |
| Test:         {title}                                            |
| Message size: {size}                                             |
"""


def boxed(name, title, size):
    """A sample below what the server says."""
    return _BOX.format(title=title, size=size) + sample(TOOL, name)


def only(text):
    (found,) = measured(text)
    return found


def test_a_latency():
    found = only(sample(TOOL, "latency"))
    assert (found.configuration.pattern, found.configuration.mode) == ("pingpong", "blocking")
    assert (found.configuration.transport, found.configuration.size) == ("ucx", 64)
    assert found.configuration.variant == (("test", "unknown"),)
    assert found.iterations == 500
    # A round trip has two messages.
    assert found.samples[0] == 500 * 2 * 162301
    assert found.reported.spread == {"p50": pytest.approx(647)}
    assert found.reported.step == pytest.approx(1)
    assert found.reported.bandwidth is None
    assert found.reported.rate is None
    assert found.reported.figures == {
        "# iterations": "500",
        "50.0%ile": "0.647",
        "average latency (usec)": "162.301",
        "overall latency (usec)": "162.301",
        "average bandwidth (MB/s)": "0.38",
        "overall bandwidth (MB/s)": "0.38",
        "average message rate (msg/s)": "6161",
        "overall message rate (msg/s)": "6161",
    }
    (source,) = imported_run(sample(TOOL, "latency")).sources
    assert (source.tool, source.statistic, source.place) == (TOOL, "mean", 4)
    assert source.facts == {"size": "by bandwidth and message rate"}


def test_a_bandwidth():
    found = only(sample(TOOL, "bandwidth-final-only"))
    assert (found.configuration.pattern, found.configuration.mode) == ("stream", "nonblocking")
    assert found.configuration.size == 65536
    assert one_way(found) == pytest.approx(572520)
    assert found.reported.bandwidth == pytest.approx(109.17 * (1 << 20))
    assert found.reported.rate == 1747
    # The percentile is that of calls.
    assert found.reported.spread == {}
    assert not found.reported.counted


@pytest.mark.parametrize("name", ["csv", "csv-server"])
def test_csv(name):
    found = only(sample(TOOL, name))
    assert found.configuration.pattern == "pingpong"
    assert found.configuration.size == 64
    assert one_way(found) == pytest.approx(54788)
    assert found.reported.spread == {"p50": pytest.approx(646)}
    title = "tag match latency" if name == "csv-server" else "unknown"
    assert found.configuration.variant == (("test", title),)


@pytest.mark.parametrize(
    ("title", "pattern", "mode"),
    [
        ("tag match latency", "pingpong", "blocking"),
        ("UCP tag sync match latency", "pingpong", "blocking"),
        ("put latency", "pingpong", "blocking"),
        ("am latency", "pingpong", "blocking"),
        ("stream latency", "pingpong", "blocking"),
        ("get latency / bandwidth / message rate", "get", "onesided"),
        ("put bandwidth / message rate", "put", "onesided"),
        ("UCP put bandwidth", "put", "onesided"),
        ("active message bandwidth / message rate", "stream", "nonblocking"),
        ("stream bandwidth", "stream", "nonblocking"),
    ],
)
def test_the_server_says_which_test_it_is(title, pattern, mode):
    found = only(boxed("latency", title, 60))
    assert (found.configuration.pattern, found.configuration.mode) == (pattern, mode)
    assert found.configuration.variant == (("test", title),)
    # What it says goes before what the digits of the client allow.
    assert found.configuration.size == 60
    assert one_way(found) == pytest.approx(162301)
    assert imported_run(boxed("latency", title, 60)).sources[0].facts == {}


def test_progress_does_not_count():
    text = sample(TOOL, "latency")
    progress = "[thread 0]      701   5.901   716.076   716.076   0.09   0.09   1397   1397\n"
    found = only(text.replace("Final:", progress + "Final:"))
    assert found.samples[0] == 500 * 2 * 162301
    with pytest.raises(UsageError, match="interrupted"):
        imported_run(text[: text.index("Final:")] + progress)


def test_a_size_that_the_digits_do_not_tell():
    text = sample(TOOL, "latency").replace("0.38       0.38        6161", "0.12  0.12  1852")
    assert only(text.replace("6161", "1852")).configuration.known_size is None
    (source,) = imported_run(text.replace("6161", "1852")).sources
    assert source.facts == {}


def test_the_window_that_a_newer_server_says():
    window = "| Window size:  32            |\n"
    found = only(window + boxed("bandwidth-final-only", "tag match bandwidth", 65536))
    assert found.configuration.window == 32
    assert one_way(found) == pytest.approx(572520)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("latency", "Final:  ", "Finel:  ", "interrupted"),
        ("latency", "    6161\n", "\n", "7 figures"),
        ("latency", "    500  ", "      0  ", "no iterations"),
        ("latency", "162.301   162.301", "162.301     0.000", "took no time"),
        ("latency", "162.301 ", "162,301 ", "comma"),
        ("bandwidth-final-only", "        500  ", "tag_bw  500  ", "batch file"),
        ("csv", "iterations,", "batch.txt,iterations,", "batch file"),
        ("csv-server", "tag match latency", "atomic add latency", "not read here"),
        ("csv-server", "| Data layout:", "| Test:       x |\n| Data layout:", "a second time"),
    ],
)
def test_what_is_no_result(name, old, new, said):
    text = sample(TOOL, name)
    assert old in text
    with pytest.raises(UsageError, match=said):
        imported_run(text.replace(old, new, 1), TOOL)


def test_a_second_final_and_several_threads():
    text = sample(TOOL, "latency")
    row = text[text.index("Final:") :]
    with pytest.raises(UsageError, match="line 7: a second Final"):
        imported_run(text + row)
    with pytest.raises(UsageError, match="several threads"):
        imported_run(text.replace(row, "Final:      500     162.301     0.38     6161\n"))
