"""The documents agree with the code."""

import re
import shlex
import tomllib
from functools import cache

import markdown
import pytest
import typer

import halftrip
from halftrip.analysis.flags.table import CAUSES
from halftrip.cli import command_line
from halftrip.plan.layers import file_layer, make_plan, options_layer
from halftrip.plan.options import OPTIONS
from halftrip.registry import EXPORTS, IMPORTERS, MEMORIES, PLOTS, STYLES, TRANSPORTS, VIEWS
from halftrip.transports.refusals import check_possible
from harness.files import ROOT, module

flags_page = module("scripts/flags_page.py")

# The documents that say how halftrip is used.
WITH_COMMANDS = ("README.md", "docs/measuring.md", "docs/reading.md", "docs/comparing.md")
DOCUMENTS = (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md"))


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == halftrip.__version__


def commands(name):
    """The commands of a document that are halftrip's, without what starts them."""
    text = (ROOT / name).read_text()
    # Comments and redirections are the shell's.
    command = r"^    (?:(?:mpiexec|srun) .*)?halftrip ([^#>\n]*[^#>\s])"
    return re.findall(command, text, re.MULTILINE)


COMMANDS = cache(lambda: typer.main.get_command(command_line()))
EVERY_COMMAND = dict.fromkeys(line for name in WITH_COMMANDS for line in commands(name))


@pytest.mark.parametrize("line", EVERY_COMMAND)
def test_every_command_of_the_documents_is_possible(line):
    """Options are read as the command reads them."""
    name, *words = shlex.split(line)
    command = COMMANDS().get_command(None, name)
    assert command is not None
    options = command.make_context(name, words).params
    if name != "run" or options["resume"] or options["against"] or options["plan"] == "PLAN.toml":
        # No plan, or that of a run, or one of the reader's own.
        return
    layers = []
    if options["plan"]:
        from halftrip.plan.recipes import find_plan

        layers = [file_layer(find_plan(options["plan"]))]
    given = {name: options[name] for name in OPTIONS.keys() & options if options[name]}
    check_possible(make_plan(*layers, options_layer(given)))


def test_one_call_of_pytest_can_have_all_tests():
    """As CONTRIBUTING.md says: files of the same name are one module."""
    names = [each.name for each in ROOT.glob("tests/**/test_*.py")]
    assert len(set(names)) == len(names)


# The documents that name everything of a kind; the names of halftrip's own.
NAMED = {
    "README.md": TRANSPORTS.built_in,
    "docs/memory.md": MEMORIES.built_in,
    "docs/other-tools.md": {**IMPORTERS.built_in, **STYLES.built_in},
    "docs/exporting.md": EXPORTS.built_in,
    "docs/pictures.md": PLOTS.built_in,
    "docs/reading.md": [f"--{name}" for name in VIEWS.built_in],
}


@pytest.mark.parametrize("name", NAMED)
def test_everything_that_is_chosen_by_name_is_in_its_document(name):
    text = (ROOT / name).read_text()
    assert [each for each in NAMED[name] if f"`{each}`" not in text] == []


def test_the_page_of_flags_is_made_from_the_table():
    """If not: make golden"""
    assert (ROOT / "docs" / "flags.md").read_text() == flags_page.page()


def test_the_page_of_flags_has_every_cause_in_order():
    for when, title in flags_page.WHEN.items():
        _, _, section = flags_page.page().partition(f"## {title}\n")
        names = re.findall(r"^\*\*(.*?)\*\*", section.partition("\n## ")[0], re.MULTILINE)
        expected = [c.flag if when == "never" else c.name for c in CAUSES if c.when == when]
        assert names == expected
    assert {cause.when for cause in CAUSES} == set(flags_page.WHEN)


def test_the_page_of_flags_names_only_options_that_exist():
    text = (ROOT / "docs" / "flags.md").read_text()
    options = set(re.findall(r"--([a-z][a-z-]*)", text)) - {"flags", "cost", "why"}
    assert {name.replace("-", "_") for name in options} <= set(OPTIONS)


def anchors(document):
    """The anchors of the headings, as hosts of repositories make them."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_documents_lead_to_files_and_headings():
    found = 0
    for document in DOCUMENTS:
        for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
            if "://" in link:
                continue
            path, _, anchor = link.partition("#")
            target = document.parent / path if path else document
            assert target.exists(), f"{document.name}: {link}"
            assert not anchor or anchor in anchors(target), f"{document.name}: {link}"
            found += 1
    assert found > 20


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_table_is_rendered(document):
    """By the renderer of the site: a line of a table that it does not take for one is text."""
    text = re.sub(r"^( *)```.*?^ *```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    made = markdown.markdown(text, extensions=["tables"])
    outside = re.sub(r"<(pre|code)>.*?</\1>", "", made, flags=re.DOTALL)
    assert re.findall(r"^(?:<p>)?\|.*", outside, re.MULTILINE) == []
    for table in re.findall(r"<table>.*?</table>", outside, re.DOTALL):
        heading, *rows = table.split("</tr>")[:-1]
        assert {len(re.findall(r"<t[hd][ >]", row)) for row in rows} <= {
            len(re.findall(r"<th[ >]", heading))
        }


def test_the_site_has_room_for_the_code_of_the_readme():
    """A window of 1280 pixels shows so many columns; the indentation of code is not shown."""
    text = (ROOT / "README.md").read_text()
    indented = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    fenced = "".join(re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL)).splitlines()
    assert max(map(len, (*indented, *fenced))) <= 108


def test_every_document_is_in_the_site():
    listed = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert listed == {str(document.relative_to(ROOT)) for document in DOCUMENTS}
