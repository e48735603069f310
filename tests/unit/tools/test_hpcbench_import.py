"""The output of Hpcbench's mpitest as a run: its figures, and what is no output of it."""

import re

import pytest

from halftrip.analysis.verdict import verdicts
from halftrip.errors import UsageError
from halftrip.report.document import document
from halftrip.tools.hpcbench import files, render
from halftrip.tools.hpcbench.throughput import throughput
from halftrip.tools.importing import imported
from harness.imports import imported_run, reference, table
from harness.samples import sample

NETWORKS = {"gigabit-ethernet": "Gigabit Ethernet", "myrinet": "Myrinet"}
TESTS = {
    "blocking-ping-pong-fixed": "fixed blocking ping-pong",
    "blocking-stream-exponential": "exponential blocking stream",
    "blocking-stream-fixed": "fixed blocking stream",
    "blocking-stream-fixed-with-syslog": "fixed blocking stream with system log",
    "nonblocking-ping-pong-exponential": "exponential non-blocking ping-pong",
    "nonblocking-ping-pong-fixed": "fixed non-blocking ping-pong",
    "nonblocking-stream-fixed": "fixed non-blocking stream",
}
LOGGED = " with system log"
ROUND_TRIPS = {
    ("Gigabit Ethernet", 64): (72.694, 72.716, 72.763, 72.541, 72.749),
    ("Myrinet", 1024): (32.261, 32.312, 32.328, 32.261, 32.246),
}


@pytest.fixture(scope="module")
def run():
    """The whole report as a run."""
    return imported_run(reference(4))


def of(run, network, test):
    """The measurements of a table, in the order of its lines."""
    name, mode, pattern = re.fullmatch(
        r"(round trip of .*|(?:fixed|exponential)) ?(non-blocking|blocking)? ?(stream|ping-pong)?",
        test.removesuffix(LOGGED),
    ).groups()
    name += LOGGED if test.endswith(LOGGED) else ""
    found = [
        each
        for each in run.measurements
        for configuration in [each.configuration]
        if configuration.variant == (("network", network), ("test", name))
        and mode in (None, {"nonblocking": "non-blocking"}.get(configuration.mode, "blocking"))
        and pattern in (None, {"pingpong": "ping-pong"}.get(configuration.pattern, "stream"))
    ]
    return sorted(found, key=lambda each: each.reported.place)


def refused(text):
    with pytest.raises(UsageError) as caught:
        imported(text.encode(), "a.txt", "hpcbench")
    return str(caught.value)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("test", TESTS)
def test_all_figures_of_a_table_are_there(run, network, test):
    """All messages of a row take the elapsed time, which is rounded to 10 ms."""
    rows = [list(row.values()) for row in table(f"hpcbench-{network}-{test}")]
    found = of(run, NETWORKS[network], TESTS[test])
    assert [list(each.reported.figures.values()) for each in found] == rows
    for each in found:
        (total,) = each.samples
        elapsed = float(each.reported.figures["Master-node Elapsed-time"])
        # The throughput, too, is rounded.
        rounding = 1e-9 * total * each.reported.step / each.one_way_blocks[0][0]
        assert abs(total / 1e9 - elapsed) <= 0.005 + rounding
        rate = float(each.reported.figures["Throughput"])
        again = throughput(each.configuration, each.iterations, total / 1e9)
        assert again == pytest.approx(rate, rel=1e-6)


def test_the_settings_are_those_of_the_experiment(run):
    (each, *others) = of(run, "Myrinet", "fixed non-blocking ping-pong")
    configuration = each.configuration
    assert (configuration.pattern, configuration.mode) == ("pingpong", "nonblocking")
    assert (configuration.transport, configuration.size) == ("mpi", 1 << 20)
    assert (configuration.directions, configuration.window) == (2, 1)
    assert (each.iterations, each.slice) == (567, 0)
    assert [other.slice for other in others] == [1, 2, 3, 4, 5]
    # The sum of both ways.
    assert each.reported.bandwidth == pytest.approx(3776.2298e6 / 8 / 2)
    (blocking, *_) = of(run, "Myrinet", "fixed blocking ping-pong")
    assert blocking.reported.bandwidth == pytest.approx(1910.7564e6 / 8)
    # Without the acknowledgement of 2 bytes.
    (first, *_) = of(run, "Gigabit Ethernet", "exponential blocking stream")
    assert first.iterations == 10_000
    assert first.reported.bandwidth == pytest.approx(0.0081e6 / 8 / 1.0002)


def test_round_trips_are_halved(run):
    for (network, size), times in ROUND_TRIPS.items():
        name = f"round trip of {'1K' if size == 1024 else size}"
        found = of(run, network, name)
        assert [each.samples[0] for each in found] == [round(1000 * time) for time in times]
        one_way = [each.one_way_blocks[0][0] for each in found]
        assert one_way == pytest.approx([500 * time for time in times])
        assert {each.configuration.size for each in found} == {size}


def test_every_table_has_its_date_hosts_and_logs(run):
    assert len(run.sources) == 18
    assert all(each.hosts == ["mk3", "mk4"] for each in run.sources)
    assert run.sources[0].date == "2004-07-14T16:32:53+00:00"
    logged = [each for each in run.sources if each.listings]
    assert [dict(each.variant)["network"] for each in logged] == ["Gigabit Ethernet", "Myrinet"]
    for each in logged:
        names = ("", " <loop>", " <eth0>", *(f" CPU{cpu}" for cpu in range(4)))
        titles = [listing.title for listing in each.listings]
        assert titles == [f"{log}{name}" for log in ("m_log", "s_log") for name in names]
        assert {len(listing.rows) for listing in each.listings} == {1, 7}
    eth0 = logged[0].listings[2]
    assert dict(zip(eth0.columns, eth0.rows[1], strict=True))["SentByte"] == "586438922"


def test_the_milliseconds_of_gigabit_are_found(run):
    """1 to 8 bytes cost 1 ms each, 16 bytes 11 us: the author "couldn't figure out" why."""
    found = {
        (dict(each.variant)["network"], each.pattern, each.size): verdict.cause
        for each, verdict in verdicts(run).items()
        if verdict.cause is not None and verdict.cause.name != "no interval"
    }
    assert set(found) == {("Gigabit Ethernet", "stream", size) for size in (1, 2, 4, 8)}
    assert {cause.name for cause in found.values()} == {"contradicted"}
    assert all("wait for a timer" in cause.advice for cause in found.values())
    assert re.search("where 16 take 10.6 us: more goes faster", found[min(found)].seen)


def test_the_style_prints_every_line_of_a_table_again(run):
    printed = render(document(run)).split("\n")
    kinds = re.compile(r"\s*\d+ .*\d|#.*|MPI R.*|Message size.*")
    wanted = [
        line
        for line in reference(4).decode().split("\n")
        if kinds.fullmatch(line) and not line.startswith("MPI C")
    ]
    assert len(wanted) > 500
    assert [line for line in printed if kinds.fullmatch(line)] == wanted
    found = files(document(run))
    assert len(found) == 18 + 4
    assert found["-13.m_log"].startswith("# mk3 syslog -- Wed Jul 14 20:10:55 2004\n")
    assert found["-14.s_log"].startswith("# mk4 syslog -- Wed Jul 14 20:19:47 2004\n")


def test_networks_are_programs_where_nothing_is_said_of_them():
    fixed = sample("hpcbench", "fixed").replace("ping-pong", "stream")
    assert [source.variant for source in imported_run(fixed).sources] == [()]
    text = "".join(f"$ {name}run -n 2 {name}test -r 5\n{fixed}" for name in ("mpi", "tcp-mpi"))
    text = text.replace("tcp-mpirun", "mpirun")
    run = imported_run(text)
    assert [dict(each.variant)["network"] for each in run.sources] == ["mpitest", "tcp-mpitest"]


def test_a_test_twice_a_log_alone_and_a_line_that_is_cut_off_are_refused():
    fixed, logged = (sample("hpcbench", name) for name in ("fixed", "system-log"))
    said = "line 19: fixed blocking stream a second time, as in line 1: import each by itself"
    assert said in refused(fixed + fixed)
    alone = logged[logged.index("# node1 syslog") :]
    assert "line 1: a system log without the output of its test" in refused(alone)
    with pytest.raises(UsageError, match="recognised by line 1"):
        imported(alone.encode(), "a.txt")
    assert "line 18: the last line is cut off: it has no end" in refused(fixed[:-2])


def test_lines_that_are_longer_than_any_tool_prints_take_no_longer():
    """Each is tried from its begin alone, not from every place in it."""
    prose = "$ mpirun " + "a" * 10**6
    _, source, *_ = imported(f"{prose}\n{sample('hpcbench', 'fixed')}".encode(), "a")
    assert source.place == 2
    comments = sample("hpcbench", "fixed").replace("# Hosts: ", "# Hosts: " + " " * 10**6, 1)
    assert "line 3: more comments than the tool prints" in refused(comments)
    names = sample("hpcbench", "system-log").replace("( loop", "( " + "x " * 10**5, 1)
    assert "a line that is longer than the tool prints" in refused(names)
