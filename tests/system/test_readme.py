"""Every command of the README does what it says, section by section, in less time than it takes."""

import contextlib
import re
import shlex
import shutil
from pathlib import Path

import pytest

from halftrip.results.run_file import load
from harness import cuda
from harness.files import ROOT
from harness.mpi import AS_ROOT, quick_start
from harness.served import served
from harness.shell import HALFTRIP
from harness.ssh import stand_in

# Options that come last win: they leave everything as it is but the time that it takes.
BUDGET = ("--time", "3ms", "--slices", "2")
FEW_LAUNCHES = ("--launches", "2")
# The stand-in for a device has the processor copy 16 MiB, and others have all sizes up to 4 MiB.
WARM_UP = ("--warmup", "2")
SMALL = ("--sizes", "8,64K", *WARM_UP)
LARGE = {"gpu-paths", "like-osu", "like-imb"}
# What is slow in full, and how it is asked for briefly: over all paths, test_doctor_loops has the
# loops, and test_runs_under_load the traffic. Four flows of MPI would share two cores for half a
# minute.
BRIEF = {"halftrip doctor --loops": ("-t", "pipe"), "halftrip run under-load": ("-t", "shm,unix")}
# What has to be long enough for its question: a simulator is given no curve that gets faster with
# the size, as slices of a moment may say; and beside other work traffic may stand still in some
# slices, in which nothing is measured beside it.
LONGER = {
    "network.jsonl": ("--time", "80ms", "--slices", "5"),
    "under-load": ("--time", "3ms", "--slices", "8"),
}
# What stands for the two hosts of the README where an mpiexec starts ranks; halftrip's own ranks
# are on hosts that a stand-in for ssh makes.
HOSTS = {"n1,n2": "localhost:2"}
# What is not run, and why.
NOT_RUN = {".": "the shell of a test has halftrip on its PATH"}
# What runs in place of a command: setting up has been done where there are tests.
IN_PLACE = {"make run": "halftrip run", "make docs": "true", "make test": "true"}


def sections():
    """The commands of each section that has some, as lists of words."""
    # What is fenced is printed.
    text = re.sub(
        r"^```.*?^```", "", (ROOT / "README.md").read_text(), flags=re.DOTALL | re.MULTILINE
    )
    found = {}
    for part in re.split(r"^#+ ", text, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        lines = [line for line in body.splitlines() if line.startswith("    ")]
        if lines:
            found[title] = [shlex.split(line, comments=True) for line in lines]
    return found


SECTIONS = sections()


# What is started for the rest of its section.
SERVER = ["halftrip", "serve"]


def within_budget(words):
    """The same command with less time, on this host."""
    asked = shlex.join(words)
    words = [*shlex.split(IN_PLACE.get(asked, asked)), *BRIEF.get(asked, ())]
    for names, here in HOSTS.items() if words[0] == "mpiexec" else ():
        words = [word.replace(names, here) for word in words]
    if "halftrip" in words and words[words.index("halftrip") + 1] == "run":
        (budget,) = [LONGER[word] for word in words if word in LONGER] or [BUDGET]
        words += budget
        if {"--launches", "paper", "--against"} & set(words):
            words += FEW_LAUNCHES
        if LARGE & set(words):
            words += SMALL
        elif "--staging" in words:
            words += WARM_UP
    return words


def test_the_readme_has_commands_for_each_question():
    questions = [title for title in SECTIONS if title.endswith("?")]
    assert len(questions) >= 8
    commands = [words for of_section in SECTIONS.values() for words in of_section]
    assert {words[0] for words in commands} <= {"halftrip", "mpiexec", "make", *NOT_RUN}
    assert sum("run" in words for words in commands) > 10


@pytest.mark.extended
@pytest.mark.parametrize("title", SECTIONS)
def test_every_command_works(title, shell, tmp_path, cuda_libraries):
    # A ring of buffers that does not fit into the real cache takes seconds to fill.
    environment = shell.small_cache() | AS_ROOT
    if not any("mpiexec.openmpi" in word for words in SECTIONS[title] for word in words):
        # Another Open MPI has other components.
        environment |= quick_start("wheel")
    if any("cuda" in word for words in SECTIONS[title] for word in words):
        environment |= cuda.stand_in(cuda_libraries)
    stand_in(tmp_path, name="ssh")
    # What the reader has of another tool.
    shutil.copy(ROOT / "tests/golden/imports/osu/latency.txt", shell.directory / "osu_latency.txt")
    # What the reader's machine has measured every night.
    (shell.directory / "nightly").mkdir()
    for path in (ROOT / "tests/golden/formats").glob("*.jsonl"):
        shutil.copy(path, shell.directory / "nightly")
    environment |= {
        "PATH": f"{Path(HALFTRIP).parent}:{tmp_path}:{shell.environment['PATH']}",
        # One host may have one core.
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    with contextlib.ExitStack() as started:
        for words in SECTIONS[title]:
            if words == SERVER:
                server = started.enter_context(served(shell.directory))
                environment |= {"HALFTRIP_SECRET": server.secret}
            elif words[0] not in NOT_RUN:
                peer = server.peer[1] if "--peer" in words else ""
                run_here([peer if word == "n2" else word for word in words], shell, environment)


def run_here(words, shell, environment):
    """Runs a command, and checks that it has measured what it says."""
    command = within_budget(words)
    result = shell.execute(*command, environment=environment)
    # The doctor says by its status whether it warns, as it does on nearly every machine.
    # And what was measured twice, so briefly, may have changed.
    judges = {"doctor", "compare", "--against"} & set(command)
    allowed = (0, 1) if judges else (0,)
    assert result.status in allowed, f"{shlex.join(command)}: {result.err or result.out}"
    assert result.out or command[0] == "true", shlex.join(command)
    if {"run", "-t"} <= {*command}:
        asked = set(command[command.index("-t") + 1].split(","))
        written = max(shell.directory.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
        found = {each.transport for each in load(written).by_configuration}
        assert found == asked, shlex.join(command)
