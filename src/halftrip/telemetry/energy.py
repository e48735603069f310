"""The energy counters of processors."""

from __future__ import annotations

import re

from halftrip.kernel_files import Reader

_ZONES = "/sys/class/powercap"
# A zone of a whole package, such as intel-rapl:0; those of its parts have two numbers. AMD's zones
# have the same names.
_PACKAGE = re.compile(r"intel-rapl:\d+")


class Energy:
    """The energy counter of the package that core `core` is in."""

    def __init__(self, reader: Reader, core: int) -> None:
        self._reader = reader
        self._zone = self._zone_of(core)

    def _zone_of(self, core: int) -> str | None:
        zones = [name for name in self._reader.names(_ZONES) if _PACKAGE.fullmatch(name)]
        if not zones:
            return None
        topology = f"/sys/devices/system/cpu/cpu{core}/topology"
        package = self._reader.number(f"{topology}/physical_package_id")
        die = self._reader.number(f"{topology}/die_id")
        # The second name is used where a package has several dies, each with its own zone.
        names = (f"package-{package}", f"package-{package}-die-{die}")
        for zone in zones if package is not None else ():
            name = self._reader.text(f"{_ZONES}/{zone}/name")
            if name and name.strip() in names:
                return f"{_ZONES}/{zone}"
        return None

    def read(self) -> int | None:
        """The counter, uJ; None where it cannot be read. Usually only root may."""
        return None if self._zone is None else self._reader.number(f"{self._zone}/energy_uj")

    def joules(self, before: int | None, after: int | None) -> float | None:
        """J between two readings. After its largest value the counter begins again at 0."""
        if before is None or after is None:
            return None
        if after < before:
            largest = self._reader.number(f"{self._zone}/max_energy_range_uj")
            if largest is None:
                return None
            after += largest + 1
        return (after - before) * 1e-6
