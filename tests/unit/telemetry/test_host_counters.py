"""The counters of a host, read from the real kernel and from made-up ones."""

import os

import psutil
import pytest

from halftrip.kernel_files import Reader
from halftrip.telemetry.energy import Energy
from halftrip.telemetry.host import Counters
from halftrip.telemetry.processors import KINDS, CoreTimes, read_processors
from harness.kernel import FILES, STAT

TICK = 1 / os.sysconf("SC_CLK_TCK")


def moved(kernel, path, text):
    """The growth of the counters when a file changes to `text`."""
    counters = Counters(kernel.reader)
    kernel(path, text)
    return counters.advance()


def test_processors_have_their_numbers_and_what_is_counted_is_a_difference(kernel):
    read = read_processors(kernel.reader)
    assert set(read.times) == {"all", "0", "3"}
    assert read.times["3"] == pytest.approx(
        dict(zip(KINDS, [0.2, 0.01, 0.1, 2, 0, 0, 0.02, 0.02], strict=True)), abs=TICK * 1e-6
    )
    assert read.counts == {"interrupts": 1234, "context_switches": 5678}
    assert CoreTimes(kernel.reader, (3, 1)).read() == [read.times["3"], {}]
    assert moved(kernel, "proc/stat", STAT.replace("cpu3 20 1 10", "cpu3 70 1 11")).cpus["3"] == {
        **dict.fromkeys(KINDS, 0.0),
        "user": 50 * TICK,
        "system": TICK,
    }
    counted = moved(kernel, "proc/net/dev", FILES["proc/net/dev"].replace("1000 10", "1500 14"))
    assert counted.interfaces["lo"] == {
        "bytes_in": 500, "packets_in": 4, "bytes_out": 0, "packets_out": 0,
        "drops_in": 0, "drops_out": 0, "errors_in": 0, "errors_out": 0,
    }  # fmt: skip
    assert counted.memory_used == (1000 - 300 - 100 - 200) * 1024
    assert counted.memory_total == 1000 * 1024
    assert counted.ended > counted.began
    counted = moved(kernel, "proc/vmstat", "pgpgin 15\npgpgout 20\npswpin 3\npswpout 2\n")
    assert {"kib_in": 5, "kib_out": 0, "swapped_in": 2, "swapped_out": 0}.items() <= (
        counted.counts.items()
    )
    # A counter that became smaller is left out.
    fewer = FILES["proc/net/dev"].replace("1000 10", "900 15")
    lo = moved(kernel, "proc/net/dev", fewer).interfaces["lo"]
    assert "bytes_in" not in lo
    assert lo["packets_in"] == 1


@pytest.mark.parametrize("hidden", ["sys/class/net", "sys/class/powercap"])
def test_a_directory_that_cannot_be_read_is_one_warning(kernel, monkeypatch, hidden):
    """As on hosts that show /sys only to root. Root can read anything, so the error is made up."""
    listdir = os.listdir

    def listed(path):
        if str(path).endswith(hidden):
            raise PermissionError(13, "Permission denied", path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", listed)
    found = Counters(kernel.reader).advance().interrupts
    assert ("eth0" in found) == (hidden != "sys/class/net")
    assert Energy(kernel.reader, 0).read() is None
    assert kernel.reader.take_warnings() == [f"/{hidden}: permission denied"]


@pytest.mark.parametrize("missing", ["stat", "meminfo", "vmstat", "interrupts", *(
    f"net/{name}" for name in ("dev", "softnet_stat", "snmp", "netstat")
)])  # fmt: skip
def test_a_kernel_without_a_file_leaves_its_figures_out_and_no_others(kernel, missing):
    whole = Counters(kernel.reader).advance()
    (kernel.root / "proc" / missing).unlink()
    left = Counters(kernel.reader).advance()
    assert kernel.reader.take_warnings() == []
    lacking = {
        "stat": left.cpus == {} and "interrupts" not in left.counts,
        "meminfo": left.memory_used is None,
        "vmstat": "kib_in" not in left.counts,
        "interrupts": left.interrupts == {},
        "net/dev": left.interfaces == {},
        "net/softnet_stat": left.softnet == {},
        "net/snmp": "tcp_retransmits" not in left.counts,
        "net/netstat": "tcp_timeouts" not in left.counts,
    }
    assert [path for path, lacks in lacking.items() if lacks] == [missing]
    assert left.counts.items() <= whole.counts.items()


def test_columns_that_a_kernel_does_not_have_are_left_out(kernel):
    """Older kernels have no steal, nor TCPFastRetrans."""
    kernel("proc/stat", "cpu  30 2 20 400 5 1 3\ncpu0 30 2 20 400 5 1 3\nctxt 1\n")
    kernel("proc/net/softnet_stat", "0000000a 00000001\n00000002 00000000\n")
    kernel("proc/net/netstat", "TcpExt: SyncookiesSent\nTcpExt: 0\n")
    counted = Counters(kernel.reader).advance()
    assert set(counted.cpus["0"]) == set(KINDS) - {"steal"}
    assert "interrupts" not in counted.counts
    assert counted.softnet == {n: {"processed": 0, "dropped": 0} for n in ("0", "1")}
    assert not {"tcp_timeouts", "tcp_fast_retransmits"} & counted.counts.keys()
    assert kernel.reader.take_warnings() == []


def figures(counted):
    """The names of all figures."""
    found = {f"cpu{cpu} {kind}" for cpu, kinds in counted.cpus.items() for kind in kinds}
    for part in ("interfaces", "interrupts", "softnet"):
        each = getattr(counted, part)
        found |= {f"{name} {what}" for name, counts in each.items() for what in counts}
    memory = set() if counted.memory_used is None else {"memory"}
    return found | set(counted.counts) | memory


DEV = FILES["proc/net/dev"]
MALFORMED = [
    ("proc/stat", STAT.replace("cpu3 20 1", "cpu3 20 x"), "cpu3 nice is 'x'", {"cpu3 nice"}),
    ("proc/stat", STAT.replace("ctxt 5678", "ctxt"), "ctxt is ''", {"context_switches"}),
    ("proc/stat", STAT.replace("intr 1234", "intr " + 20 * "9"), "intr is '99999", {"interrupts"}),
    # More digits than Python takes for a number.
    ("proc/stat", STAT.replace("ctxt 5678", "ctxt " + 5000 * "9"), "ctxt is '99999",
     {"context_switches"}),
    ("proc/net/softnet_stat", FILES["proc/net/softnet_stat"].replace("0000000a", "-000000a", 1),
     "line 1 is '-0", {f"0 {what}" for what in ("processed", "dropped", "squeezed")}),
    ("proc/vmstat", FILES["proc/vmstat"].replace("pgpgin 10", "pgpgin ten"), "pgpgin is 'ten'",
     {"kib_in"}),
    ("proc/net/netstat", "TcpExt: TCPTimeouts TCPFastRetrans\nIpExt: 3 4\n",
     "has no values below it", {"tcp_timeouts", "tcp_fast_retransmits"}),
    ("proc/net/softnet_stat", FILES["proc/net/softnet_stat"].replace("0000000a", "what?", 1),
     "line 1 is 'what?", {f"0 {what}" for what in ("processed", "dropped", "squeezed")}),
    ("proc/net/dev", DEV.replace("3000 30", "3000 x"), "lo packets_out is 'x'",
     {"lo packets_out"}),
    ("proc/meminfo", "MemTotal: 10 kB\nMemFree: ten\n", "psutil cannot read it", {"memory"}),
    ("proc/interrupts", FILES["proc/interrupts"].replace("100   7", "100   ?"), "27 CPU 3 is '?'",
     set()),
]  # fmt: skip


@pytest.mark.parametrize(("path", "text", "said", "lost"), MALFORMED)
def test_a_malformed_figure_is_left_out_with_one_warning_and_all_others_are_read(
    kernel, path, text, said, lost
):
    usual = figures(Counters(kernel.reader).advance())
    kernel(path, text)
    counters = Counters(kernel.reader)
    for _ in range(3):
        assert usual - figures(counters.advance()) == lost
    (warning,) = kernel.reader.take_warnings()
    assert said in warning
    assert psutil.PROCFS_PATH == "/proc"


def test_this_host_s_kernel_is_read_without_warnings():
    reader = Reader()
    counters = Counters(reader)
    counted = counters.advance()
    assert reader.take_warnings() == []
    assert {"all", "0"} <= counted.cpus.keys()
    assert set(counted.cpus["all"]) <= set(KINDS)
    assert counted.memory_used > 0
    assert {"interrupts", "context_switches", "tcp_retransmits", "udp_errors", "kib_in"} <= (
        counted.counts.keys()
    )
    assert {"packets_in", "bytes_out", "drops_in", "errors_out"} <= counted.interfaces["lo"].keys()
    assert counted.softnet.keys() >= {"0"}
