"""The documents agree with the code, and have its words. Benchmarks are run by hand, some on
machines of their own: their imports are checked here."""

import ast
import re
import shlex
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Literal, get_args, get_origin, get_type_hints
from xml.etree import ElementTree

import msgspec
import pytest
from markdown_it import MarkdownIt

import halftrip
from halftrip.analysis.flags import NAMES
from halftrip.analysis.flags.table import CAUSES
from halftrip.cli import command_line
from halftrip.plan.layers import file_layer, make_plan, options_layer
from halftrip.plan.options import OPTIONS
from halftrip.registry import EXPORTS, IMPORTERS, MEMORIES, PLOTS, STYLES, TRANSPORTS, VIEWS
from halftrip.report.fields import FIELDS
from halftrip.results import records
from halftrip.transports.refusals import check_possible
from halftrip.views import columns, cost, details, layers, tails
from harness import runs
from harness.files import ROOT, module
from harness.kernel import has_two_nodes
from harness.screens import text

flags_page = module("scripts/flags_page.py")
site = module("scripts/site.py")

# The documents that say how halftrip is used.
WITH_COMMANDS = ("README.md", "docs/measuring.md", "docs/reading.md", "docs/comparing.md")
DOCUMENTS = (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md"))


def test_a_file_or_an_image_of_a_release_is_of_this_version():
    named = [ROOT / "docs" / "installing.md", *(ROOT / "packaging").rglob("*.*")]
    text = "".join(path.read_text() for path in named if path.is_file())
    found = re.findall(r"halftrip[-:](\d+\.\d+\.\d+)", text)
    assert len(found) > 5
    assert set(found) == {halftrip.__version__}


def commands(name):
    """The commands of a document that are halftrip's, without what starts them."""
    text = (ROOT / name).read_text()
    # Comments and redirections are the shell's.
    command = r"^    (?:(?:mpiexec|srun) .*)?halftrip ([^#>\n]*[^#>\s])"
    return re.findall(command, text, re.MULTILINE)


COMMANDS = cache(lambda: command_line())
EVERY_COMMAND = dict.fromkeys(line for name in WITH_COMMANDS for line in commands(name))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_command_is_cut_on_the_site(path):
    """So many characters it shows in a window of 1,280 pixels."""
    lines = re.findall(
        r"^    ((?:halftrip|mpiexec|python|smpirun) .*)", path.read_text(), re.MULTILINE
    )
    assert [line for line in lines if len(line) > 112] == []


@pytest.mark.parametrize("line", EVERY_COMMAND)
def test_every_command_of_the_documents_is_possible(line, tmp_path, monkeypatch):
    """Options are read as the command reads them."""
    has_two_nodes(tmp_path, monkeypatch)
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


def test_the_page_of_flags_is_made_from_the_table_and_names_what_exists_in_order():
    """If not: make golden"""
    assert (ROOT / "docs" / "flags.md").read_text() == flags_page.page()
    for when, title in flags_page.WHEN.items():
        _, _, section = flags_page.page().partition(f"## {title}\n")
        names = re.findall(r"^\*\*(.*?)\*\*", section.partition("\n## ")[0], re.MULTILINE)
        expected = [c.flag if when == "never" else c.name for c in CAUSES if c.when == when]
        assert names == expected
    assert {cause.when for cause in CAUSES} == set(flags_page.WHEN)


def test_all_advice_says_what_can_be_done():
    """Not only what is to be found out, without how; and options that exist."""
    vague = re.compile(r"(find out|doubt|two things|look (?!at which way)(for|at|whether))")
    assert [cause.name for cause in CAUSES if vague.match(cause.advice)] == []
    text = (ROOT / "docs" / "flags.md").read_text()
    options = set(re.findall(r"--([a-z][a-z-]*)", text)) - {"flags", "cost", "why", "load"}
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
    made = MarkdownIt().enable("table").render(text)
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
    listed = [f"{page}.md" for page in (site.START, *site.NAVIGATION.values())]
    assert sorted(listed) == sorted(str(document.relative_to(ROOT)) for document in DOCUMENTS)


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda p: p.stem)
def test_what_a_benchmark_imports_is_there(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("halftrip"):
            module = import_module(node.module)
            for name in (each.name for each in node.names):
                is_there = hasattr(module, name) or find_spec(f"{node.module}.{name}")
                assert is_there, f"{node.module}.{name}"


PAGE = ROOT / "docs" / "words.md"
# What concerns a run that exists is no key of a plan.
OF_A_RUN = {"resume", "again"}
OF_EVERY_TABLE = {"transport"}
OF_LAYERS = {"layer", "over"}
OF_VERDICTS = {"ok", "caution", "no"}


def options():
    return {name.replace("_", "-") for name in OPTIONS} | OF_A_RUN


def headings():
    """The headings of tables."""
    shown = [
        *columns.latency_columns(rtt=False),
        *columns.latency_columns(rtt=True),
        *columns.RATE_COLUMNS,
        *columns.DELIVERY_COLUMNS,
        *columns.LAUNCH_COLUMNS,
        columns.VERIFIED,
        columns.VERDICT,
        columns.CAUSE,
        *FIELDS,
        *cost._COLUMNS,
        *layers._TIMES,
        *layers._RATES,
    ]
    many = runs.measurement(samples=range(1000, 31_000), iterations=1)
    of_tails = text(tails.tails, runs.run(many)).splitlines()[0]
    return {each.name for each in shown} | set(of_tails.split()) | OF_EVERY_TABLE | OF_LAYERS


def csv_columns():
    return set(text(details.csv, runs.run(runs.measurement("shm", 8))).splitlines()[0].split(","))


def structures(kind, found):
    """All records of a run file and what they hold, by a walk over the types of their fields."""
    is_value = isinstance(kind, type) and issubclass(kind, (msgspec.Struct, tuple))
    if is_value and kind not in found and hasattr(kind, "__annotations__"):
        found.add(kind)
        for each in get_type_hints(kind).values():
            structures(each, found)
    for each in get_args(kind):
        structures(each, found)
    return found


def fields():
    """The names of fields of a run file, and the kinds of its records."""
    found = structures(records.Record, set())
    names = {name for kind in found for name in get_type_hints(kind)}
    tags = {kind.__struct_config__.tag for kind in get_args(records.Record)}
    assert {"core_to_core_rtt", "steal", "after"} <= names
    return names | tags


def values():
    """The names that fields of a configuration can have as their values."""
    kinds = structures(records.Record, set())
    hints = [hint for kind in kinds for hint in get_type_hints(kind).values()]
    literals = [hint for hint in hints if get_origin(hint) is Literal]
    return {value for hint in literals for value in get_args(hint)} | {*TRANSPORTS, *NAMES}


def quoted(cell):
    return re.findall(r"`([^`]*)`", cell)


def table_rows():
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in lines
        if not line.startswith("| word")
    ]


def test_every_word_of_the_page_is_one_of_the_code():
    known = [options(), headings(), csv_columns(), fields()]
    everything = {*set().union(*known), *values(), *OF_VERDICTS, "total"}
    found = table_rows()
    assert len(found) > 30
    for word, meaning, *places in found:
        assert [name for name in quoted(meaning) if name not in everything] == [], word
        assert len(places) == len(known), word
        for place, names in zip(places, known, strict=True):
            assert quoted(place) or place == "-", word
            said = [name.removeprefix("--") for name in quoted(place)]
            assert [name for name in said if name not in names] == [], word


NAMESPACE = "http://www.w3.org/2000/svg"


@pytest.fixture
def pictures():
    made = module("scripts/terminal_picture.py")
    run = ROOT / "tests" / "golden" / "formats" / "1.jsonl"
    return made.picture(str(run)), (ROOT / "docs" / "terminal.svg").read_text()


def test_a_picture_refers_to_nothing_outside_itself_and_has_the_words_of_the_screen(pictures):
    for picture in pictures:
        assert set(re.findall(r"\w+://[^\s\"')]*", picture)) == {NAMESPACE}
        assert "@font-face" not in picture
        assert all(url.startswith("#") for url in re.findall(r"url\(([^)]*)\)", picture))
        assert ElementTree.fromstring(picture).tag == f"{{{NAMESPACE}}}svg"
        words = picture.replace("&#160;", " ")
        assert [word for word in ("$ halftrip run", "Trust:", "More:") if word not in words] == []
    assert "peak bandwidth" in pictures[1].replace("&#160;", " ")
