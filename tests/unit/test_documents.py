"""The documents agree with the code."""

import re
import shlex
import tomllib

import typer

import halftrip
from halftrip.analysis.flags import NAMES
from halftrip.cli import app
from halftrip.plan.layers import file_layer, make_plan, options_layer
from halftrip.plan.options import OPTIONS
from halftrip.plan.recipes import find_plan
from halftrip.registry import TRANSPORTS
from halftrip.transports.refusals import check_possible
from harness.files import ROOT

DOCUMENTS = (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md"))


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == halftrip.__version__


def test_the_readme_names_only_options_that_exist():
    text = (ROOT / "README.md").read_text()
    commands = re.findall(r"halftrip run([^\n`]*)", text)
    options = [name for command in commands for name in re.findall(r"--([a-z-]+)", command)]
    assert len(set(options)) > 5
    assert {name.replace("-", "_") for name in options} <= {
        *OPTIONS,
        "resume",
        "again",
        "no_config",
    }


def test_every_command_of_the_readme_can_be_measured_on_some_machine():
    """Options are read as the command reads them."""
    text = (ROOT / "README.md").read_text()
    lines = re.findall(r"^    (?:mpiexec -n 2 )?halftrip run(.*)$", text, re.MULTILINE)
    assert len(lines) > 10
    context = typer.main.get_command(app).get_command(None, "run")
    for line in lines:
        options = context.make_context("run", shlex.split(line, comments=True)).params
        if options.pop("resume"):
            # The plan is that of the run.
            continue
        del options["again"], options["no_config"]
        recipe = options.pop("plan")
        layers = [file_layer(find_plan(recipe))] if recipe else []
        given = {name: value for name, value in options.items() if value is not False}
        check_possible(make_plan(*layers, options_layer(given)))


def test_no_document_has_a_placeholder():
    for document in DOCUMENTS:
        found = re.search(r"\b(TBD|TODO|FIXME)\b|^[A-Z]+$", document.read_text(), re.MULTILINE)
        assert found is None, f"{document.name}: {found[0]}"


def test_every_transport_is_in_the_readme():
    text = (ROOT / "README.md").read_text()
    assert all(f"`{name}`" in text for name in TRANSPORTS)


def test_every_flag_has_its_section_in_order():
    text = (ROOT / "docs" / "flags.md").read_text()
    sections = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert tuple(sections) == NAMES
    for name, section in sections.items():
        for part in ("Rule", "Seen", "Do", "Not meant"):
            assert section.count(f"- *{part}*") == 1, f"{name}: {part}"


def test_the_page_of_flags_names_only_options_that_exist():
    text = (ROOT / "docs" / "flags.md").read_text()
    options = set(re.findall(r"--([a-z][a-z-]*)", text)) - {"flags", "usage"}
    assert {name.replace("-", "_") for name in options} <= set(OPTIONS)


def test_links_between_documents_exist():
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
