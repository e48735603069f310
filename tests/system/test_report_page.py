"""Pages of real runs in a real browser: that pictures are drawn, and that everybody can read it."""

import json

import msgspec
import pytest

from harness.imports import reference
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
PAIRS = ("-n", "4", "--pairs", "all", "-t", "shm", "-s", "8", "--slices", "3", "--time", "5ms")


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
    result = directory.run(*RUN, **quick_start("wheel"))
    assert result.status == 0, result.err
    page = result.path.with_suffix(".html")
    assert result.out.splitlines()[-1] == f"report: {page.name}"
    return page


@pytest.fixture(scope="module")
def axe():
    from axe_playwright_python.sync_playwright import Axe

    return Axe()


def seen(opened, path, width=1280, theme="light", **options):
    context = opened.new_context(
        viewport={"width": width, "height": 900}, color_scheme=theme, **options
    )
    context.set_default_timeout(60_000)
    return Seen(context.new_page(), path)


def check(opened, path, axe):
    """Opens a page wide and light, and narrow and dark; it is drawn, and nobody is shut out."""
    for width, theme in zip(WIDTHS, THEMES, strict=True):
        found = seen(opened, path, width, theme)
        assert found.wrong == []
        assert [url for url in found.requests if not url.startswith(("file:", "data:"))] == []
        assert len(found.requests) <= 2
        assert found.overflow() <= 0
        marks = found.marks()
        assert all(marks)
        assert marks
        assert violations(axe, found.page) == []
        found.page.context.close()


def violations(axe, page):
    """What shuts people out, in short."""
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    return [
        (each["id"], [node["html"][:200] for node in each["nodes"][:3]])
        for each in axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
        if each["impact"] in ("serious", "critical")
    ]


def test_the_page_of_a_run(opened, measured, axe):
    check(opened, measured, axe)


def test_a_transport_is_hidden_and_shown_again(opened, measured):
    found = seen(opened, measured)
    before = found.marks()
    box = found.page.get_by_label("tcp", exact=True)
    box.uncheck()
    found.until(lambda: found.marks()[0] < before[0])
    box.check()
    found.until(lambda: found.marks()[0] == before[0])
    assert found.wrong == []


def test_a_theme_that_changes_is_drawn_again(opened, measured):
    found = seen(opened, measured)
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


def test_the_wheel_scrolls_the_page_and_zooms_with_a_key(opened, measured):
    found = seen(opened, measured)
    picture = found.page.locator(".picture").first
    picture.scroll_into_view_if_needed()
    labels = ".role-axis-label text"
    before = picture.locator(labels).all_text_contents()
    box = picture.bounding_box()
    found.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    where = found.page.evaluate("scrollY")
    found.page.mouse.wheel(0, 200)
    found.until(lambda: found.page.evaluate("scrollY") != where)
    assert picture.locator(labels).all_text_contents() == before
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    found.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    found.page.keyboard.down("Shift")
    found.page.mouse.wheel(0, -900)
    found.page.keyboard.up("Shift")
    found.until(lambda: picture.locator(labels).all_text_contents() != before)
    assert found.wrong == []


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
def test_the_page_of_all_pairs(opened, directory, axe):
    result = directory.halftrip("run", *PAIRS, "--report", "-o", "pairs.jsonl")
    assert result.status == 0, result.err
    check(opened, directory.directory / "pairs.html", axe)


@pytest.mark.extended
def test_two_runs_and_a_host_with_a_hostile_name(opened, directory, measured, axe):
    """The name is in the environment of every rank, and so all over the page."""
    run_file = measured.with_suffix(".jsonl")
    other = directory.directory / "other.jsonl"
    host = msgspec.json.decode(
        next(
            line for line in run_file.read_bytes().splitlines() if b'"record":"environment"' in line
        )
    )["host"]
    text = run_file.read_text().replace(f'"host":"{host}"', f'"host":{json.dumps(HOSTILE)}')
    other.write_text(text)
    files = (run_file.name, other.name)
    assert directory.call("report", *files, "-p", "pingpong", "-o", "hostile.html").status == 0
    page = directory.directory / "hostile.html"
    check(opened, page, axe)
    found = seen(opened, page)
    assert HOSTILE in found.page.locator("body").inner_text()
    assert "alert(1)</script>" not in page.read_text()


@pytest.mark.extended
@pytest.mark.parametrize("number", range(5))
def test_the_page_of_a_published_table(number, opened, directory, axe):
    published, run_file = directory.directory / f"{number}.txt", f"{number}.jsonl"
    published.write_bytes(reference(number))
    imported = directory.call("import", published.name, "-o", run_file)
    assert imported.status == 0, imported.err
    assert directory.call("report", run_file).status == 0
    check(opened, directory.directory / f"{number}.html", axe)
