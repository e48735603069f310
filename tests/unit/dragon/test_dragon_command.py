"""The command that starts a Dragon runtime, what it prints, and what it leaves behind."""

import os
import re
import sys

import pytest

from halftrip.dragon import process
from halftrip.dragon.command import reason, runtime_command, telling
from halftrip.dragon.process import is_pool_of
from halftrip.errors import Unavailable, UsageError

OWN = (sys.executable, "-P", "-m", "dragon")


@pytest.fixture
def programs(monkeypatch, tmp_path):
    """Makes programs of these names, which are the only ones."""

    def make(*names):
        for name in names:
            (tmp_path / name).write_text("#!/bin/sh\n")
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        return tmp_path

    return make


@pytest.mark.parametrize(("program", "name"), [(None, None), ("srun", "Slurm"), ("qstat", "PBS")])
def test_without_an_allocation_it_is_one_node(programs, program, name):
    programs(*([program] if program else []))
    made = runtime_command(None, os.environ)
    assert (made.words, made.spans_nodes) == ((*OWN, "-s"), False)
    said = f"no allocation of {name}: Dragon runs on this node alone (dragon -s)"
    assert made.note == (said if program else "")
    # What it would find only takes time.
    assert made.environment(os.environ) == dict(os.environ)


def test_in_an_allocation_of_several_nodes_it_spans_them(programs, tmp_path):
    programs("srun")
    made = runtime_command(None, {"SLURM_JOB_NUM_NODES": "2", "PATH": "/bin"})
    assert (made.words, made.spans_nodes, made.note) == (OWN, True, "")
    assert made.environment({"PATH": "/bin"})["PATH"].startswith(os.path.dirname(sys.executable))
    hosts = tmp_path / "hosts"
    hosts.write_text("n1\nn1\nn2\n")
    assert runtime_command(None, {"PBS_NODEFILE": str(hosts)}).spans_nodes
    # One node of an allocation is this one.
    alone = runtime_command(None, {"SLURM_JOB_NUM_NODES": "1"})
    assert (alone.words, alone.note) == ((*OWN, "-s"), "")


def test_a_command_may_have_options(programs):
    path = programs("my-dragon")
    made = runtime_command("my-dragon -w ssh --hostlist 'a,b'", os.environ)
    assert made.words == (str(path / "my-dragon"), "-w", "ssh", "--hostlist", "a,b")
    assert made.spans_nodes
    assert not runtime_command("my-dragon --single-node-override", os.environ).spans_nodes


@pytest.mark.parametrize("requested", ["", "no-such-dragon -s", "'unclosed"])
def test_what_is_no_program_is_refused(programs, requested):
    programs()
    with pytest.raises(UsageError, match=r"^--dragon: "):
        runtime_command(requested, {"PATH": "/nowhere"})


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(process.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Unavailable, match=f"^{re.escape(process.no_dragon())}$"):
        runtime_command(None, os.environ)
    assert process.missing() == process.no_dragon()
    monkeypatch.undo()
    # Nor is a process of any use without a runtime.
    for name in ("DRAGON_DEFAULT_PD", "DRAGON_ATTACH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    process._problem.cache_clear()
    assert process.missing().startswith("no Dragon runtime: ")
    process._problem.cache_clear()


def test_preparing_keeps_multiprocessing_as_it_is(monkeypatch):
    monkeypatch.setenv("DRAGON_PATCH_MP", "True")
    monkeypatch.delenv("DRAGON_ATTACH_DIR", raising=False)
    process.prepare(None, "token")
    assert "DRAGON_PATCH_MP" not in os.environ
    assert "DRAGON_ATTACH_DIR" not in os.environ
    monkeypatch.setattr(os, "environ", dict(os.environ))
    process.prepare("/somewhere", "token")
    assert process.attachment("/somewhere", "token").items() <= os.environ.items()


HEALTHY = [
    "+++ head proc exited, code 0",
    "warning: 2 leftover files in /dev/shm: ",
    "DD0330def0M",
    "sh: 1: dragon-config: not found",
]
FAILED = [
    "Traceback (most recent call last):",
    '  File "launch_selector.py", line 47, in determine_environment',
    "RuntimeError: Dragon detected one or more workload managers.",
    *HEALTHY,
]


def test_the_reason_is_the_last_error_or_else_the_last_line():
    assert reason(FAILED) == "Dragon detected one or more workload managers."
    assert reason(["first", "not within an allocation", *HEALTHY]) == "not within an allocation"
    # A healthy end says nothing.
    assert reason(HEALTHY) is reason([]) is None
    assert telling(["hello", *HEALTHY]) == ["hello"]


@pytest.mark.parametrize(
    ("name", "is_pool"),
    [
        ("DD{user}954def0M", True),
        ("DD{user}954log_0D", True),
        ("DD{user}95412def0M", True),
        ("DD{user}955def0M", False),
        ("sm_segment.vm.0", False),
    ],
)
def test_a_pool_is_known_by_its_user_and_process(name, is_pool):
    name = name.format(user=str(os.getuid())[-3:])
    assert is_pool_of(name, [1, 12954]) == is_pool
