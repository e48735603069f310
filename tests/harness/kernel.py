"""A kernel that is made up: what it shows below /proc and /sys."""

import os

from halftrip.kernel_files import Reader
from halftrip.plan import cores, memory

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
# Two NUMA nodes with three physical cores each, of two threads: n and n + 6.
_NODES, _CPU = "sys/devices/system/node", "sys/devices/system/cpu/cpu"
TWO_NODES = {
    f"{_NODES}/has_memory": "0-1\n",
    f"{_NODES}/has_cpu": "0-1\n",
    f"{_NODES}/node0/cpulist": "0-2,6-8\n",
    f"{_NODES}/node1/cpulist": "3-5,9-11\n",
    **{f"{_CPU}{n}/topology/thread_siblings_list": f"{n % 6},{n % 6 + 6}\n" for n in range(12)},
    **{f"{_CPU}{n}/node{n // 3 % 2}/cpulist": "" for n in range(12)},
}


def has_two_nodes(directory, monkeypatch):
    """Has plans see these nodes, and all of their processors."""
    for module in (cores, memory):
        monkeypatch.setattr(module, "HOST_FILES", Kernel(directory, TWO_NODES).reader)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(12)))


class Kernel:
    """Files below `root`, and a reader of them. Calling it writes one: its path and its text."""

    def __init__(self, root, files=FILES):
        self.root = root
        self.reader = Reader(root)
        for path, text in files.items():
            self(path, text)

    def __call__(self, path, text):
        # Never the real file, which is where an absolute path would lead.
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
