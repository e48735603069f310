"""What is read of a kernel, a real one and such as are made up."""

import os
import time

import psutil
import pytest

from halftrip.telemetry.busiest_task import culprit
from halftrip.telemetry.energy import Energy
from halftrip.telemetry.host import Counters
from halftrip.telemetry.kernel_files import Reader
from halftrip.telemetry.network import InterfaceInterrupts, read_protocols, read_softnet
from halftrip.telemetry.processors import KINDS, read_core, read_processors

TICK = 1 / os.sysconf("SC_CLK_TCK")
STAT = """\
cpu  30 2 20 400 5 1 3 4 0 0
cpu0 10 1 10 200 5 1 1 2 0 0
cpu3 20 1 10 200 0 0 2 2 0 0
intr 1234 0 0 7
ctxt 5678
btime 1
"""
FILES = {
    "proc/stat": STAT,
    "proc/meminfo": "MemTotal: 1000 kB\nMemFree: 300 kB\nMemAvailable: 500 kB\nBuffers: 100 kB\n"
    "Cached: 150 kB\nSReclaimable: 50 kB\nActive: 0 kB\nInactive: 0 kB\nShmem: 0 kB\nSlab: 50 kB\n",
    "proc/vmstat": "nr_free_pages 1\npgpgin 10\npgpgout 20\npswpin 1\npswpout 2\n",
    "proc/net/dev": "Inter-| Receive | Transmit\n face |bytes packets\n"
    "    lo: 1000 10 1 2 0 0 0 0 3000 30 3 4 0 0 0 0\n",
    "proc/net/softnet_stat": "0000000a 00000001 00000002 0 0 0 0 0 0 0 0 0 00000000\n"
    "00000014 00000000 00000000 0 0 0 0 0 0 0 0 0 00000003\n",
    "proc/net/snmp": "Tcp: InSegs OutSegs RetransSegs InErrs\nTcp: 5 6 7 8\n"
    "Udp: InDatagrams OutDatagrams InErrors RcvbufErrors SndbufErrors\nUdp: 1 2 3 4 5\n",
    "proc/net/netstat": "TcpExt: SyncookiesSent TCPTimeouts TCPFastRetrans\nTcpExt: 0 9 8\n",
    "proc/interrupts": "            CPU0       CPU3\n 27:   100   7   PCI-MSIX  eth0-0\n"
    " 28:     1   2   PCI-MSIX  eth0-1\nLOC:   5   6   Local timer interrupts\n",
    "sys/class/net/eth0/device/msi_irqs/27": "",
    "sys/class/net/eth0/device/msi_irqs/28": "",
    "sys/class/net/lo/mtu": "65536\n",
}


@pytest.fixture
def kernel(tmp_path):
    """What a kernel shows, to be changed: path and text."""

    def show(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    for path, text in FILES.items():
        show(path, text)
    show.root = tmp_path
    show.reader = Reader(tmp_path)
    return show


def moved(kernel, path, text):
    """What the counters say of a file that changes."""
    counters = Counters(kernel.reader)
    kernel(path, text)
    return counters.advance()


def test_processors_are_known_by_their_numbers(kernel):
    read = read_processors(kernel.reader)
    assert set(read.times) == {"all", "0", "3"}
    assert read.times["3"] == pytest.approx(
        dict(zip(KINDS, [0.2, 0.01, 0.1, 2, 0, 0, 0.02, 0.02], strict=True)), abs=TICK * 1e-6
    )
    assert read.counts == {"interrupts": 1234, "context_switches": 5678}
    assert read_core(kernel.reader, 3) == read.times["3"]
    assert read_core(kernel.reader, 1) == {}


def test_what_was_counted_between_two_moments(kernel):
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
    assert counted.ended > counted.began
    counted = moved(kernel, "proc/vmstat", "pgpgin 15\npgpgout 20\npswpin 3\npswpout 2\n")
    assert {"kib_in": 5, "kib_out": 0, "swapped_in": 2, "swapped_out": 0}.items() <= (
        counted.counts.items()
    )


def test_the_network_is_read_by_processor_protocol_and_interface(kernel):
    assert read_softnet(kernel.reader) == {
        "0": {"processed": 10, "dropped": 1, "squeezed": 2},
        "3": {"processed": 20, "dropped": 0, "squeezed": 0},
    }
    assert read_protocols(kernel.reader) == {
        "tcp_segments_in": 5, "tcp_segments_out": 6, "tcp_retransmits": 7, "tcp_errors": 8,
        "udp_datagrams_in": 1, "udp_datagrams_out": 2, "udp_errors": 3,
        "udp_receive_buffer_full": 4, "udp_send_buffer_full": 5,
        "tcp_timeouts": 9, "tcp_fast_retransmits": 8,
    }  # fmt: skip
    assert InterfaceInterrupts(kernel.reader).read() == {"eth0": {"0": 101, "3": 9}}


def test_a_virtio_interface_has_the_interrupts_of_the_device_that_it_is_on(kernel):
    devices = kernel.root / "sys/devices/virtio2"
    (devices.parent / "msi_irqs").mkdir(parents=True)
    (devices.parent / "msi_irqs" / "28").touch()
    devices.mkdir()
    (kernel.root / "sys/bus/virtio").mkdir(parents=True)
    (devices / "subsystem").symlink_to(kernel.root / "sys/bus/virtio")
    (kernel.root / "sys/class/net/veth1").mkdir()
    (kernel.root / "sys/class/net/veth1/device").symlink_to(devices)
    assert InterfaceInterrupts(kernel.reader).read()["veth1"] == {"0": 1, "3": 2}


@pytest.mark.parametrize("where", ["irq", "virtio0", "eth0"])
def test_an_interface_on_no_pci_bus_has_the_interrupt_that_is_called_like_it(tmp_path, where):
    """virtio on a PCI device with a line of its own, virtio elsewhere, and what a board has."""
    device = tmp_path / "sys/devices/port/virtio0"
    device.mkdir(parents=True)
    (tmp_path / "sys/bus/virtio").mkdir(parents=True)
    (device / "subsystem").symlink_to("../../../bus/virtio")
    (tmp_path / "sys/class/net/eth0").mkdir(parents=True)
    (tmp_path / "sys/class/net/eth0/device").symlink_to("../../../devices/port/virtio0")
    (tmp_path / "sys/class/net/lo").mkdir()
    name = {"irq": "uhci, acpi", "virtio0": "virtio0-input.0", "eth0": "usb1, eth0"}[where]
    if where == "irq":
        (device.parent / "irq").write_text("11\n")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/interrupts").write_text(
        "      CPU0  CPU1\n  9:   7   7  IO-APIC  virtio01\n 10:   7   7  IO-APIC  device, lo\n"
        f" 11:   1   2  IO-APIC  11-edge  {name}\nLOC:   5   6  Local timer interrupts\n"
    )
    assert InterfaceInterrupts(Reader(tmp_path)).read() == {"eth0": {"0": 1, "1": 2}}


@pytest.mark.parametrize("hidden", ["sys/class/net", "sys/class/powercap"])
def test_a_directory_that_cannot_be_read_is_said_and_no_more(kernel, monkeypatch, hidden):
    """As on hosts that show /sys to root alone; but root can read anything."""
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


def test_what_the_kernel_itself_does_not_know_is_not_odd(kernel):
    kernel("sys/class/powercap/intel-rapl:0/name", "package-0\n")
    kernel("sys/class/powercap/intel-rapl:0/energy_uj", "5\n")
    kernel("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n")
    kernel("sys/devices/system/cpu/cpu0/topology/die_id", "-1\n")
    assert Energy(kernel.reader, 0).read() == 5
    assert kernel.reader.take_warnings() == []


def test_an_interface_may_have_one_interrupt_of_its_own_and_share_it(kernel):
    """What it is plugged into has some, too, which are none of its."""
    (kernel.root / "sys/devices/port/msi_irqs").mkdir(parents=True)
    (kernel.root / "sys/devices/port/msi_irqs/27").touch()
    for name, irq in (("eth1", 28), ("eth2", 28), ("eth3", 0)):
        device = kernel.root / f"sys/devices/port/{name}"
        kernel(f"sys/devices/port/{name}/irq", f"{irq}\n")
        (kernel.root / "sys/class/net" / name).mkdir()
        (kernel.root / "sys/class/net" / name / "device").symlink_to(device)
    found = InterfaceInterrupts(kernel.reader).read()
    assert found["eth1"] == found["eth2"] == {"0": 1, "3": 2}
    assert "eth3" not in found


@pytest.mark.parametrize("gone", ["stat", "meminfo", "vmstat", "interrupts", *(
    f"net/{name}" for name in ("dev", "softnet_stat", "snmp", "netstat")
)])  # fmt: skip
def test_a_kernel_without_a_file_leaves_its_figures_out_and_no_others(kernel, gone):
    whole = Counters(kernel.reader).advance()
    (kernel.root / "proc" / gone).unlink()
    left = Counters(kernel.reader).advance()
    assert kernel.reader.take_warnings() == []
    missing = {
        "stat": left.cpus == {} and "interrupts" not in left.counts,
        "meminfo": left.memory_used is None,
        "vmstat": "kib_in" not in left.counts,
        "interrupts": left.interrupts == {},
        "net/dev": left.interfaces == {},
        "net/softnet_stat": left.softnet == {},
        "net/snmp": "tcp_retransmits" not in left.counts,
        "net/netstat": "tcp_timeouts" not in left.counts,
    }
    assert [path for path, lacks in missing.items() if lacks] == [gone]
    assert left.counts.items() <= whole.counts.items()


def test_a_kernel_that_has_less_in_a_file_leaves_that_out(kernel):
    """Such as were there before steal was, or TCPFastRetrans."""
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
    """The names of all that is there."""
    found = {f"cpu{cpu} {kind}" for cpu, kinds in counted.cpus.items() for kind in kinds}
    for part in ("interfaces", "interrupts", "softnet"):
        each = getattr(counted, part)
        found |= {f"{name} {what}" for name, counts in each.items() for what in counts}
    memory = set() if counted.memory_used is None else {"memory"}
    return found | set(counted.counts) | memory


DEV = FILES["proc/net/dev"]
ODD = [
    ("proc/stat", STAT.replace("cpu3 20 1", "cpu3 20 x"), "cpu3 nice is 'x'", {"cpu3 nice"}),
    ("proc/stat", STAT.replace("ctxt 5678", "ctxt"), "ctxt is ''", {"context_switches"}),
    ("proc/stat", STAT.replace("intr 1234", "intr -3"), "intr is '-3'", {"interrupts"}),
    ("proc/stat", STAT.replace("intr 1234", "intr " + 20 * "9"), "intr is '99999", {"interrupts"}),
    # More digits than Python takes for a number.
    ("proc/stat", STAT.replace("ctxt 5678", "ctxt " + 5000 * "9"), "ctxt is '99999",
     {"context_switches"}),
    ("proc/net/softnet_stat", FILES["proc/net/softnet_stat"].replace("0000000a", "-000000a", 1),
     "line 1 is '-0", {f"0 {what}" for what in ("processed", "dropped", "squeezed")}),
    ("proc/vmstat", FILES["proc/vmstat"].replace("pgpgin 10", "pgpgin ten"), "pgpgin is 'ten'",
     {"kib_in"}),
    ("proc/net/snmp", FILES["proc/net/snmp"].replace("7 8", "- 8"), "Tcp RetransSegs is '-'",
     {"tcp_retransmits"}),
    ("proc/net/netstat", "TcpExt: TCPTimeouts TCPFastRetrans\nIpExt: 3 4\n",
     "has no values below it", {"tcp_timeouts", "tcp_fast_retransmits"}),
    ("proc/net/softnet_stat", FILES["proc/net/softnet_stat"].replace("0000000a", "what?", 1),
     "line 1 is 'what?", {f"0 {what}" for what in ("processed", "dropped", "squeezed")}),
    ("proc/net/dev", DEV.replace("3000 30", "3000 x"), "lo packets_out is 'x'",
     {"lo packets_out"}),
    ("proc/meminfo", "MemTotal: 10 kB\nMemFree: ten\n", "psutil cannot read it", {"memory"}),
    ("proc/meminfo", "MemTotal: 10 kB\nMemFree: 1 kB\n", "psutil cannot read it", {"memory"}),
    ("proc/interrupts", FILES["proc/interrupts"].replace("100   7", "100   ?"), "27 CPU 3 is '?'",
     set()),
]  # fmt: skip


@pytest.mark.parametrize(("path", "text", "said", "lost"), ODD)
def test_what_is_odd_is_left_out_and_said_once_and_all_else_is_there(
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


def test_a_file_that_cannot_be_read_is_said_once(kernel):
    """As root anything can be read but what is no file."""
    (kernel.root / "proc/net/snmp").unlink()
    (kernel.root / "proc/net/snmp").mkdir()
    counters = Counters(kernel.reader)
    assert "tcp_retransmits" not in counters.advance().counts
    assert kernel.reader.take_warnings() == ["/proc/net/snmp: is a directory"]
    counters.advance()
    assert kernel.reader.take_warnings() == []


def test_a_counter_that_has_begun_anew_says_nothing(kernel):
    fewer = FILES["proc/net/dev"].replace("1000 10", "900 11")
    lo = moved(kernel, "proc/net/dev", fewer).interfaces["lo"]
    assert "bytes_in" not in lo
    assert lo["packets_in"] == 1


def test_energy_is_of_the_package_that_a_core_is_in(kernel):
    for core, package in (("0", "0"), ("3", "1")):
        path = f"sys/devices/system/cpu/cpu{core}/topology/physical_package_id"
        kernel(path, f"{package}\n")
    assert Energy(kernel.reader, 3).read() is None
    for zone, name in (("0", "package-0"), ("1", "package-1"), ("1:0", "core")):
        kernel(f"sys/class/powercap/intel-rapl:{zone}/name", f"{name}\n")
        kernel(f"sys/class/powercap/intel-rapl:{zone}/energy_uj", f"{zone[-1]}000000\n")
        kernel(f"sys/class/powercap/intel-rapl:{zone}/max_energy_range_uj", "9999999\n")
    energy = Energy(kernel.reader, 3)
    before = energy.read()
    assert before == 1_000_000
    kernel("sys/class/powercap/intel-rapl:1/energy_uj", "3500000\n")
    assert energy.joules(before, energy.read()) == pytest.approx(2.5)
    # It begins again at 0 after its largest value.
    assert energy.joules(9_000_000, 1_000_000) == pytest.approx(2.0)
    assert energy.joules(None, 5) is None
    (kernel.root / "sys/class/powercap/intel-rapl:1/energy_uj").unlink()
    assert energy.read() is None
    # Of several dies each has a zone.
    kernel("sys/devices/system/cpu/cpu0/topology/die_id", "1\n")
    kernel("sys/class/powercap/intel-rapl:0/name", "package-0-die-1\n")
    assert Energy(kernel.reader, 0).read() == 0


def task(kernel, pid, tid, name, processor, ran, parent=1):
    fields = ["S", str(parent), *["0"] * 34, str(processor), "0"]
    kernel(f"proc/{pid}/task/{tid}/stat", f"{tid} ({name}) {' '.join(fields)}\n")
    kernel(f"proc/{pid}/task/{tid}/schedstat", f"{ran} 5 6\n")


def test_the_culprit_is_who_runs_most_on_the_core(kernel, monkeypatch):
    def later(seconds):
        task(kernel, 20, 21, "so) so (", 1, 5 * 10**9)
        task(kernel, 30, 30, "elsewhere", 0, 9 * 10**9)
        task(kernel, 40, 40, "kworker/1:0", 1, 2 * 10**9, parent=2)

    for pid, tid in ((20, 20), (20, 21), (30, 30), (40, 40), (os.getpid(), os.getpid())):
        task(kernel, pid, tid, "any", 1, 100)
    monkeypatch.setattr("halftrip.telemetry.busiest_task.time.sleep", later)
    found = culprit(1, kernel.root / "proc")
    assert found.name == "so) so ( (process 20)"
    # It has run for longer than was watched.
    assert found.share == 1.0
    assert culprit(1, kernel.root / "proc") is None
    assert culprit(7, kernel.root / "proc") is None


def test_who_hardly_runs_is_no_culprit(kernel, monkeypatch):
    rest = time.sleep

    def run_for(nanoseconds):
        def later(seconds):
            rest(seconds)
            task(kernel, 20, 20, "brief", 1, nanoseconds)

        task(kernel, 20, 20, "brief", 1, 0)
        monkeypatch.setattr("halftrip.telemetry.busiest_task.time.sleep", later)
        return culprit(1, kernel.root / "proc")

    assert run_for(100_000) is None
    assert 0.1 < run_for(15_000_000).share < 0.8


@pytest.mark.parametrize("odd", ["", "x 1 2\n"])
def test_an_odd_task_is_not_looked_at(kernel, monkeypatch, odd):
    task(kernel, 20, 20, "odd", 1, 0)
    task(kernel, 20, 21, "busy", 1, 0)
    kernel("proc/20/task/20/schedstat", odd)
    monkeypatch.setattr(
        "halftrip.telemetry.busiest_task.time.sleep",
        lambda seconds: task(kernel, 20, 21, "busy", 1, 10**9),
    )
    assert culprit(1, kernel.root / "proc").name == "busy (process 20)"


def test_the_culprit_may_be_the_kernel_itself(kernel, monkeypatch):
    task(kernel, 40, 40, "ksoftirqd/1", 1, 100, parent=2)
    monkeypatch.setattr(
        "halftrip.telemetry.busiest_task.time.sleep",
        lambda seconds: task(kernel, 40, 40, "ksoftirqd/1", 1, 10**9, parent=2),
    )
    assert culprit(1, kernel.root / "proc").name == "ksoftirqd/1 (of the kernel)"


def test_this_kernel_is_understood():
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
