"""The energy of a processor's package."""

import pytest

from halftrip.telemetry.energy import Energy


def test_energy_is_of_the_core_s_package(kernel):
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
    # With several dies, each has a zone.
    kernel("sys/devices/system/cpu/cpu0/topology/die_id", "1\n")
    kernel("sys/class/powercap/intel-rapl:0/name", "package-0-die-1\n")
    assert Energy(kernel.reader, 0).read() == 0
    # An unknown one is no warning.
    kernel("sys/devices/system/cpu/cpu0/topology/die_id", "-1\n")
    kernel("sys/class/powercap/intel-rapl:0/name", "package-0\n")
    assert Energy(kernel.reader, 0).read() == 0
    assert kernel.reader.take_warnings() == []
