"""Where a rank runs, read from made-up kernels."""

import platform

import pytest

from halftrip.telemetry import environment

CPUINFO = "proc/cpuinfo"
VENDOR = "sys/class/dmi/id/sys_vendor"


def test_only_variables_that_matter_are_recorded():
    found = environment.variables(
        {"OMPI_MCA_pml": "ob1", "UCX_TLS": "shm", "HOME": "/root", "SECRET_OMPI_MCA_x": "1"}
    )
    assert found == {"OMPI_MCA_pml": "ob1", "UCX_TLS": "shm"}


@pytest.mark.parametrize(
    ("cpuinfo", "name"),
    [
        (
            "processor\t: 0\nmodel name\t: A Processor @ 2GHz \nmodel name\t: B\n",
            "A Processor @ 2GHz",
        ),
        ("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", "0xd0c"),
        ("nothing known\n", platform.machine()),
        (None, platform.machine()),
    ],
)
def test_the_processor_is_named_as_the_kernel_does(bare_kernel, cpuinfo, name):
    if cpuinfo is not None:
        bare_kernel(CPUINFO, cpuinfo)
    assert environment.processor(bare_kernel.reader) == name


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"sys/hypervisor/type": "xen\n", CPUINFO: "flags\t: fpu\n"}, "xen"),
        ({CPUINFO: "flags\t: fpu hypervisor\n", VENDOR: "QEMU\n"}, "QEMU"),
        ({CPUINFO: "flags\t: fpu hypervisor\n"}, "unnamed"),
        ({CPUINFO: "flags\t: fpu hypervisors\n", VENDOR: "QEMU\n"}, "none"),
        ({CPUINFO: "Features\t: fp asimd\n"}, None),
        ({}, None),
    ],
)
def test_the_hypervisor_is_known_where_the_kernel_tells(bare_kernel, files, name):
    for path, text in files.items():
        bare_kernel(path, text)
    assert environment.hypervisor(bare_kernel.reader) == name


@pytest.mark.parametrize(
    ("core", "name"), [(0, "powersave"), (3, "performance"), (7, None), (None, "powersave")]
)
def test_the_governor_is_that_of_the_core(bare_kernel, core, name):
    for number, governor in ((0, "powersave"), (3, "performance")):
        path = f"sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor"
        bare_kernel(path, f"{governor}\n")
    assert environment.governor(core, bare_kernel.reader) == name


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({}, None),
        ({"meltdown": ""}, None),
        ({"meltdown": "Not affected\n", "retbleed": "Not affected\n"}, "none needed"),
        (
            {
                "spectre_v2": "Mitigation: Retpolines; IBPB: conditional, RSB filling\n",
                "meltdown": "Vulnerable\n",
                "l1tf": "Not affected\n",
            },
            "meltdown: Vulnerable | spectre_v2: Retpolines; IBPB: conditional, RSB filling",
        ),
    ],
)
def test_what_the_kernel_does_about_vulnerabilities_is_a_short_text(bare_kernel, files, text):
    for name, state in files.items():
        bare_kernel(f"sys/devices/system/cpu/vulnerabilities/{name}", state)
    assert environment.mitigations(bare_kernel.reader) == text
