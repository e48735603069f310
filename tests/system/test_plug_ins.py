"""A transport from another package, written in Python: real ranks measure it like any other. And a
view, which has an option of its own, every format, and a place in a report."""

import itertools

from halftrip.registry import TRANSPORTS
from harness.files import ROOT
from harness.packages import install, install_package

PATTERNS = ("pingpong", "stream")

# A connected Unix socket; the initiator listens.
MODULE = """
import secrets
import socket

from halftrip.transports.capabilities import Capabilities
from halftrip.transports.python.endpoint import PythonPath, PythonTransport
from halftrip.results.patterns import ONE_WAY


class ExampleTransport(PythonTransport):
    capabilities = Capabilities(
        patterns={"blocking": ONE_WAY},
        waits=("block",),
        no_other_wait="example can only sleep",
        smallest=1,
        too_small="example has no empty messages",
    )

    def missing(self, pair):
        return None if pair.same_host else "the ranks are on different hosts"

    def path(self, pair, settings):
        return ExamplePath(pair)


class ExamplePath(PythonPath):
    def __init__(self, pair):
        super().__init__(pair)
        self.socket = socket.socket(socket.AF_UNIX)
        if pair.initiates:
            self.address = f"example-{secrets.token_hex(8)}"
            self.socket.bind("\\0" + self.address)
            self.socket.listen(1)

    def connect(self, address):
        if self.pair.initiates:
            with self.socket as listener:
                self.socket, _ = listener.accept()
        else:
            self.socket.connect("\\0" + address)
        self.messages = Messages(self.socket)

    def close(self):
        self.socket.close()


class Messages:
    def __init__(self, connection):
        self.connection = connection

    def send(self, message):
        self.connection.sendall(message)

    def recv(self, into):
        received = 0
        while received < len(into):
            count = self.connection.recv_into(into[received:])
            if not count:
                raise ConnectionError("the peer has closed its end")
            received += count
"""
MODULES = {"works": (MODULE, "ExampleTransport")}


def test_it_is_measured_like_a_built_in_one(shell):
    result = shell.measure(
        *("-t", "works,shm", "-p", ",".join(PATTERNS), "-s", "0,8,300000", "--window", "3"),
        *("--wait", "block,spin", "--time", "1ms", "--verify"),
        **install(shell.directory, "halftrip.transports", MODULES),
        silent=True,
    )
    run = result.run
    assert run.failures == ()
    found = [m for m in run.measurements if m.configuration.transport == "works"]
    expected = itertools.product(PATTERNS, (8, 300000))
    assert sorted((m.configuration.pattern, m.configuration.size) for m in found) == sorted(
        expected
    )
    for m in found:
        assert m.configuration.both_ends("wait") == "block"
        assert m.verified > 0
        assert min(m.samples) > 0
        assert m.usage is not None
    reasons = {s.reason for s in run.skips if s.transport == "works"}
    assert "example has no empty messages" in reasons
    assert any("example can only sleep" in reason for reason in reasons)
    # It is shown where the package is not installed, too.
    assert "works" not in TRANSPORTS
    assert result.cells("transport") == {("shm",), ("works",)}


VIEW = """
from halftrip.entries import InReport, ViewEntry, ViewOption
from halftrip.render.blocks import View, text_table


def counted(document, twice=False):
    count = len(document.rows) * (2 if twice else 1)
    return View([text_table("Rows", ["rows"], [[str(count)]])], title="Counts")


COUNTED = ViewEntry("example_counted:counted", "How many rows there are.",
                    (ViewOption("twice", "twice", "With --counted: twice as many."),),
                    in_report=InReport("Rows counted"))
"""


def test_a_view_has_an_option_every_format_and_a_place_in_a_report(shell):
    names = {"counted": "example_counted:COUNTED", "broken": "example_counted:nothing"}
    found = install_package(shell.directory, {"example_counted": VIEW}, {"halftrip.views": names})
    run = ROOT / "tests" / "golden" / "formats" / "1.jsonl"
    help_text = shell.halftrip("show", "--help", **found).out
    for said in ("--counted How many rows there are.", "--broken halftrip.views 'broken'"):
        assert said in " ".join(help_text.split())
    for more, rows in (([], "7"), (["--twice"], "14")):
        shown = shell.halftrip("show", run, "--counted", *more, "--format", "csv", **found)
        assert (shown.status, shown.out) == (0, f"rows\n{rows}\n")
    for words, said in (
        (["--twice"], "--twice: only with --counted"),
        (["--counted", "--rtt"], "--rtt: --counted shows no latency; leave it out"),
        (["--broken"], "halftrip.views 'broken' (example_counted:nothing) cannot be loaded"),
    ):
        refused = shell.halftrip("show", run, *words, **found)
        assert refused.status == 2
        assert refused.err.startswith(f"halftrip: {said}")
    for name in ("format", "sizes", "all", "sort", "two words"):
        taken = VIEW.replace('"twice", "twice"', f'"{name}", "twice"')
        (shell.directory / "example_counted.py").write_text(taken)
        refused = shell.halftrip("show", run, **found)
        assert refused.status == 2
        assert refused.err.startswith(f"halftrip: halftrip.views 'counted': --{name}: ")
    (shell.directory / "example_counted.py").write_text(VIEW)
    page = shell.halftrip("report", run, "--format", "md", "-o", "-", **found)
    assert "## Rows counted\n" in page.out
    assert "## Not shown\n\nhalftrip.views 'broken'" in page.out
