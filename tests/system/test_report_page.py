"""Pages of real runs in a real browser: that pictures are drawn, and that everybody can read it."""

import json

import msgspec
import pytest

from harness.mpi import quick_start
from harness.pages import Seen, browser
from harness.shell import opened_shell

WIDTHS = (1280, 390)
THEMES = ("light", "dark")
HOSTILE = "<script>alert(1)</script>"
RUN = (
    *("-t", "mpi,shm,tcp", "-p", "pingpong,stream", "-s", "8,64K", "--system-log"),
    *("--launches", "2", "--slices", "3", "--time", "15ms", "--report"),
)


@pytest.fixture(scope="module")
def opened():
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    with opened_shell(tmp_path_factory.mktemp("pages")) as shell:
        yield shell


@pytest.fixture(scope="module")
def measured(directory):
    """The page of a run, written by the command that has measured it."""
    result = directory.measure(*RUN, **quick_start("wheel"))
    page = result.path.with_suffix(".html")
    assert result.out.splitlines()[-1] == f"report: {page.name}"
    return page


def seen(opened, path, width=1280, theme="light"):
    context = opened.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    context.set_default_timeout(60_000)
    return Seen(context.new_page(), path)


def check(opened, path):
    """Opens a page wide and light, and narrow and dark; it is drawn, and nobody is shut out."""
    from axe_playwright_python.sync_playwright import Axe

    for width, theme in zip(WIDTHS, THEMES, strict=True):
        found = seen(opened, path, width, theme)
        assert found.wrong == []
        assert [url for url in found.requests if not url.startswith(("file:", "data:"))] == []
        assert len(found.requests) <= 2
        assert found.overflow() <= 0
        # A table that scrolls has a last column that nobody sees.
        clipped = """[...document.querySelectorAll(".wide")]
            .filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.innerText)"""
        assert width < max(WIDTHS) or found.page.evaluate(clipped) == []
        marks = found.marks()
        assert marks
        assert all(marks)
        page = found.page
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        shut_out = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        serious = [each for each in shut_out if each["impact"] in ("serious", "critical")]
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in serious] == []
        page.context.close()


@pytest.mark.extended
def test_the_page_of_a_run(opened, measured):
    check(opened, measured)
    # On a phone, the first figure is within the window, and nothing covers what is read.
    page = seen(opened, measured, min(WIDTHS)).page
    head = page.locator("section#table thead th", has_text="latency").first
    right = "each => each.offsetLeft + each.offsetWidth - each.closest('.wide').clientWidth"
    assert head.evaluate(right) <= 0
    position = "each => getComputedStyle(each).position"
    assert page.locator("#choice").evaluate(position) == "static"


@pytest.mark.extended
def test_a_transport_is_hidden_and_a_theme_drawn_again(opened, measured):
    found = seen(opened, measured)
    before = found.marks()
    box = found.page.get_by_label("tcp", exact=True)
    box.uncheck()
    found.until(lambda: found.marks()[0] < before[0])
    box.check()
    found.until(lambda: found.marks()[0] == before[0])
    label = found.page.locator(".picture svg .role-axis-title text").first
    ink, behind = label.get_attribute("fill"), found.colour()
    found.page.emulate_media(color_scheme="dark")
    found.until(lambda: label.get_attribute("fill") != ink)
    assert found.colour() != behind
    # Paper is white.
    picture = found.page.locator(".picture svg").first
    drawn = "each => getComputedStyle(each).filter"
    assert picture.evaluate(drawn) == "none"
    found.page.emulate_media(media="print", color_scheme="dark")
    assert "invert" in picture.evaluate(drawn)
    assert found.wrong == []


@pytest.mark.extended
def test_tables_are_sorted_by_click_and_by_key(opened, measured):
    found = seen(opened, measured)
    table = found.page.locator("section#table table").first
    head = table.locator("thead th", has_text="latency")
    number = head.evaluate("each => each.cellIndex")

    def column():
        cells = table.locator(f"tbody tr > :nth-child({number + 1})").all_text_contents()
        return [float(cell.replace(",", "")) for cell in cells]

    assert head.get_attribute("aria-sort") == "none"
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert column() == sorted(column())
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert column() == sorted(column(), reverse=True)


@pytest.mark.extended
def test_without_scripts_there_are_words_and_tables(opened, measured):
    context = opened.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(measured.as_uri())
    said = page.locator("body").inner_text().replace("\N{NO-BREAK SPACE}", " ")
    assert "Pictures need JavaScript" in said
    assert "The lowest latency of messages of 8 B is" in said
    assert page.locator("#choice").is_hidden()
    context.close()


@pytest.mark.extended
def test_two_runs_and_a_host_with_a_hostile_name(opened, directory, measured):
    """The name is in the environment of every rank, and so all over the page."""
    run_file = measured.with_suffix(".jsonl")
    other = directory.directory / "other.jsonl"
    lines = run_file.read_bytes().splitlines()
    environment = next(line for line in lines if b'"record":"environment"' in line)
    host = msgspec.json.decode(environment)["host"]
    text = run_file.read_text().replace(f'"host":"{host}"', f'"host":{json.dumps(HOSTILE)}')
    other.write_text(text)
    files = (run_file.name, other.name)
    assert directory.call("report", *files, "-p", "pingpong", "-o", "hostile.html").status == 0
    page = directory.directory / "hostile.html"
    check(opened, page)
    found = seen(opened, page)
    assert HOSTILE in found.page.locator("body").inner_text()
    assert "alert(1)</script>" not in page.read_text()
