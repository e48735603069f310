"""What the tests cost, printed at the end: by directory and tier, and the slowest ones."""

import resource
from collections import defaultdict
from dataclasses import dataclass

import pytest

SLOWEST = 20


def cpu_seconds():
    """Of this process and of its children that have ended."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(each) for each in whose]
    return sum(each.ru_utime + each.ru_stime for each in used)


@dataclass
class Cost:
    tests: int = 0
    seconds: float = 0.0
    cpu: float = 0.0

    def add(self, report):
        self.tests += report.when == "setup"
        self.seconds += report.duration
        self.cpu += report.cpu


class Budget:
    """A plugin. Workers of xdist send their reports, with what is added to them, to the process
    that prints."""

    def __init__(self):
        self._before = 0.0
        self._groups = defaultdict(Cost)
        self._tests = defaultdict(Cost)

    def pytest_runtest_logstart(self):
        self._before = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        report = yield
        now = cpu_seconds()
        report.cpu, self._before = now - self._before, now
        return report

    def pytest_runtest_logreport(self, report):
        if not hasattr(report, "cpu"):
            return  # of a worker that died
        tier = "extended" if "extended" in report.keywords else "quick"
        directory = report.nodeid.removeprefix("tests/").partition("/")[0]
        self._groups[directory, tier].add(report)
        self._tests[report.nodeid].add(report)

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.section("budget")
        write = terminalreporter.write_line
        write("  seconds  CPU-s  tests")
        for (directory, tier), cost in sorted(self._groups.items()):
            write(f"{cost.seconds:9.1f} {cost.cpu:6.1f} {cost.tests:6d}  {directory}, {tier}")
        slowest = sorted(self._tests.items(), key=lambda each: -each[1].seconds)[:SLOWEST]
        for test, cost in slowest:
            write(f"{cost.seconds:9.1f} {cost.cpu:6.1f}         {test}")
