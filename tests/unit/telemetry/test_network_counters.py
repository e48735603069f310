"""The counters of the network, and which interrupts belong to which interface."""

import pytest

from halftrip.kernel_files import Reader
from halftrip.telemetry.network import InterfaceInterrupts, read_protocols, read_softnet


def test_counts_are_by_processor_protocol_and_interface(kernel):
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


def test_datagrams_over_ipv6_count_with_those_over_ipv4(kernel):
    before = read_protocols(kernel.reader)
    kernel("proc/net/snmp6", "Ip6InReceives\t99\nUdp6InDatagrams 10\nUdp6RcvbufErrors\t20\n")
    grown = {
        name: count - before[name]
        for name, count in read_protocols(kernel.reader).items()
        if count != before[name]
    }
    assert grown == {"udp_datagrams_in": 10, "udp_receive_buffer_full": 20}
    assert kernel.reader.take_warnings() == []


@pytest.mark.parametrize("where", ["irq", "virtio0", "eth0"])
def test_an_interface_off_the_pci_bus_has_the_interrupt_of_its_name(tmp_path, where):
    """virtio on a PCI device with an interrupt line, virtio elsewhere, and a device on a board."""
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


def test_interfaces_may_share_an_interrupt(kernel):
    """The port that it is plugged into has interrupts, too, which are not the interface's."""
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
