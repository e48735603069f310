"""The page of a run: what it may run and load, that nothing of a run can change it, and what it
says: the answer, the rules, the environments, how to repeat a run."""

import base64
import hashlib
import html as entities
import itertools
import json
import re
import tomllib
from unittest import mock

import msgspec
import pytest

from halftrip.page import html
from halftrip.page.answer import answer
from halftrip.page.drawing import script_json, specification
from halftrip.page.html import _safe, bundle
from halftrip.page.rules import rules
from halftrip.plan.layers import make_plan, python_layer
from halftrip.render.html import escaped
from halftrip.render.markdown import escaped as markdown_escaped
from halftrip.report.document import document
from halftrip.results.run_file import load
from harness import runs
from harness.files import ROOT, RUN_FILES
from harness.imports import imported_run
from harness.pages import elements, markdown_of, page_of, report_of, section

IMPORTS = sorted((ROOT / "tests" / "golden" / "imports").glob("*/*"))
# The script that draws is not there: to make it takes seconds.
BASE_BYTES, BYTES_OF_A_MEASUREMENT = 1_550_000, 1024


def several(*hosts):
    measured = [
        runs.measurement(name, size) for name in ("shm", "tcp") for size in (8, 64, 1024, 4096)
    ]
    environments = tuple(runs.environment(rank, host=host) for rank, host in enumerate(hosts))
    return runs.run(*measured, environments=environments)


@pytest.fixture(autouse=True, scope="module")
def undrawn():
    """Pages have a short script in place of that which draws."""
    with mock.patch("halftrip.page.html.bundle", return_value="window.vegaEmbed = undefined;"):
        yield


@pytest.fixture(scope="module")
def page():
    return page_of(several("node1", "node2"))


def test_the_policy_has_the_hashes_of_exactly_the_scripts_that_run(page):
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    scripts = [text for kind, text in elements(page, "script") if "application/json" not in kind]
    found = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in scripts
    ]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["script-src"].split() == found
    assert len(found) == 2
    assert directives["default-src"] == "'none'"
    assert "unsafe-eval" not in policy
    assert "unsafe" not in directives["script-src"]


def test_the_page_names_nothing_to_load_and_says_how_it_is_read(page):
    without_scripts = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    addresses = re.findall(r'(?:src|href|action)="([^"]*)"', without_scripts)
    assert all(each.startswith(("#", "data:")) for each in addresses)
    assert "url(" not in without_scripts
    assert "@import" not in without_scripts
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert page.count("<h1") == 1
    for words in ("<main", 'href="#main"', "<noscript>", '<th scope="col"', '<th scope="row"'):
        assert words in page
    levels = [int(level) for level in re.findall(r"<h(\d)", page)]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_every_link_leads_to_a_section_of_its_own_name(page):
    names = re.findall(r' id="([^"]*)"', page)
    assert len(set(names)) == len(names)
    assert set(re.findall(r'href="#([a-z][^"]*)"', page)) <= set(names)


def test_each_picture_has_its_words_and_its_data_and_may_be_zoomed(page):
    """By hand, and not by a finger."""
    made = report_of(several("node1", "node1"))
    assert made.charts
    for chart in made.charts:
        assert f'id="chart-{chart.name}"' in page
        assert chart.text.split(".")[0] in page.replace("&nbsp;", " ")
    spec = specification(next(each for each in made.charts if "latency" in each.name))
    (zoom,) = spec["layer"][0]["params"]
    assert zoom["bind"] == "scales"
    assert "touch" in zoom["select"]["translate"]
    assert "ctrlKey" in zoom["select"]["zoom"]
    assert spec["width"] == "container"
    alone = html.of_charts("Pictures", made.charts)
    assert alone.count("<figure") == len(made.charts)
    assert "<h1>Pictures</h1>" in alone
    assert "<section" not in alone


def test_a_text_of_a_run_is_shown_as_it_is():
    text = '"><script>alert(1)</script><img src=x onerror=alert(1)>&amp;\x1b[31m'
    made = page_of(several(text, "node2"))
    outside = re.sub(r"<script.*?</script>", "", made, flags=re.DOTALL)
    assert text not in made
    assert "\x1b" not in made
    assert escaped(text) in outside.replace("&nbsp;", " ")


def test_a_host_cannot_end_the_data_of_a_picture():
    value = {"name": "</script><!--<script>", "end": "\u2028"}
    written = script_json(value)
    assert "<" not in written
    assert "\u2028" not in written
    assert json.loads(written) == value
    with pytest.raises(ValueError, match="JSON"):
        script_json({"x": float("nan")})


def test_the_script_that_draws_ends_no_element():
    assert _safe("a</script>b<!--c\r\nd") == "a\\x3c/script>b\\x3c!--c\nd"
    text = bundle()
    assert 500_000 < len(text.encode()) < 950_000
    assert "</script" not in text.lower()
    assert "<!--" not in text


def test_the_script_is_kept_and_checked_or_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("vl_convert.javascript_bundle", lambda snippet: f"made; {snippet}")
    first = bundle()
    (kept,) = (tmp_path / "halftrip").glob("*.js")
    monkeypatch.setattr("vl_convert.javascript_bundle", lambda snippet: f"again; {snippet}")
    assert bundle() == first
    kept.write_text("alert(1)")
    assert bundle().startswith("again; ")
    # A cache that cannot be written costs only time.
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept))
    assert bundle().startswith("again; ")


ANY = [pytest.param(path, marks=pytest.mark.extended) for path in IMPORTS]


@pytest.mark.parametrize(
    "path", [*RUN_FILES, *ANY], ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_the_page_of_any_run_is_small(path):
    run = load(path) if path.suffix == ".jsonl" else imported_run(path.read_bytes())
    made = page_of(run)
    most = BASE_BYTES + BYTES_OF_A_MEASUREMENT * len(run.measurements)
    assert len(made.encode()) < most
    # Nothing that the page is made of shows through.
    text = entities.unescape(re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", made, flags=re.DOTALL))
    for word in ("None", "nan", "NamedTuple", "Tabled("):
        assert not re.search(rf"\b{re.escape(word)}\b", text), word


def test_an_empty_run_has_a_page_and_an_interrupted_one_says_so():
    made = page_of(runs.run())
    assert "Nothing was measured" in made
    assert "<figure" not in made
    # Without pictures there is nothing to draw with.
    assert len(made) < 100_000
    run = several("a", "a")
    end = msgspec.structs.replace(run.end, reason="stopped by SIGINT")
    made = page_of(msgspec.structs.replace(run, end=end))
    assert "stopped by SIGINT" in made
    assert "--resume a.jsonl" in made
    # Runs with nothing in common are beside each other.
    made = page_of(runs.run(runs.measurement("shm", 8)), runs.run(runs.measurement("tcp", 1024)))
    for letter in "AB":
        assert f'<th scope="col">{letter} <small>us</small></th>' in made


SAMPLES_OF_TOOLS = ROOT / "tests" / "golden" / "imports"


def answered(*measurements, **changes):
    return answer(document(runs.run(*measurements, **changes)))


def imported(name):
    return imported_run((SAMPLES_OF_TOOLS / name).read_bytes())


def kept(run):
    """How the run keeps each rule, by its number."""
    found = rules([document(run)])
    assert len(found) == 12
    return {number: rule.state for number, rule in enumerate(found, 1)}


def test_the_answer_has_the_fastest_path_and_its_interval():
    ranked, latency, bandwidth, trust = answered(
        *runs.in_launches("shm", 8, 100.0),
        *runs.in_launches("tcp", 8, 5000.0),
        *runs.in_launches("shm", 65536, 8000.0),
    )
    assert ranked.startswith("8 B: shm is 50.")
    assert latency.startswith("The lowest latency of messages of 8 B is 0.0999")
    assert "over shm (95 % interval" in latency
    assert "the highest is " in latency
    assert bandwidth.startswith("The highest bandwidth is 8.")
    assert "over shm by pingpong of messages of 64 KiB" in bandwidth
    assert "of 3 rows" in trust.lower() or "All 3 rows" in trust


def test_a_single_row_is_no_lowest_and_an_empty_run_has_no_answer():
    latency, bandwidth, trust = answered(*runs.in_launches("shm", 8, 100.0))
    assert latency.startswith("The latency of messages of 8 B is")
    assert bandwidth.startswith("The bandwidth is")
    assert "only row" in trust
    assert answered() == ["Nothing was measured."]


def test_what_cannot_be_trusted_says_why_and_what_it_is_good_for():
    wide = [
        runs.measurement(name, 8, half_ns=half_ns * (1 + 0.1 * (n % 5)), seed=n, slice=n)
        for name, half_ns in (("shm", 100.0), ("tcp", 5000.0))
        for n in range(10)
    ]
    wide.append(runs.measurement("pipe", 8))
    trust = answered(*wide)[-1]
    assert re.match(r"Of 3 rows, .*3 cannot be trusted: .* \(2\), .* \(1\)\. ", trust)
    assert re.search(
        r"\(half within \d+ %, the widest within \d+ %; 1 row without an interval\)", trust
    )
    assert trust.endswith("what differs by more does differ.")
    assert answered(runs.measurement("pipe", 8))[-1].startswith("The only row cannot be trusted: ")


def test_what_another_tool_or_a_model_says_is_said_to_be():
    latency, _, trust = answer(document(imported("mpptest/cit.txt")))
    assert "a single figure without an interval" in latency
    assert "cannot be told" in trust
    first, second, _ = answer(document(imported("hpcbench/exponential.txt")))
    assert first == "No row's result is the time of a single message."
    assert second.startswith("The highest bandwidth is 620 MB/s")
    latency, rate, _ = answer(document(imported("sockperf/ping-pong.txt")))
    assert "of a size that is not known" in latency
    assert "messages/s" in rate
    assert "computed from a model" in answered(*runs.in_launches("simulated", 8, 100.0))[-1]
    ranked, latency, *_ = answered(
        *runs.in_launches("shm", 8, 100.0), *runs.in_launches("shm", 8, 300.0, pair=(2, 3))
    )
    assert "shm ranks 0-1 is 3.000 (" in ranked
    assert "ranks 0-1" in latency
    assert "ranks 2-3" in latency


def test_a_run_keeps_what_it_can_of_the_rules():
    measured = [*runs.in_launches("shm", 8, 100.0), *runs.in_launches("tcp", 8, 5000.0)]
    found = kept(runs.run(*measured))
    assert [found[rule] for rule in (1, 5, 7, 9)] == ["does not apply", "in part", "kept", "kept"]
    assert kept(runs.run(*runs.in_launches("shm", 8, 100.0, launches=6)))[5] == "kept"
    found = kept(imported("osu/latency.txt"))
    assert [found[rule] for rule in (5, 7, 9, 11)] == ["not kept"] * 4
    # Bounds are of the run.
    without = runs.in_launches("shm", 8, 100.0, rtts=None)
    assert kept(runs.run(*measured))[11] == "kept"
    assert kept(runs.run(*without, copy_times=()))[11] == "not kept"


def test_the_first_rule_fits_what_the_page_says():
    one, two = (runs.in_launches(*each) for each in (("shm", 8, 100.0), ("tcp", 8, 5000.0)))
    for measured, state in ((one, "does not apply"), ([*one, *two], "kept")):
        made = report_of(runs.run(*measured))
        assert f"another. **{state}**" in section(made, "rules").replace(
            "how fast that is", "another"
        )
        assert ("times as fast" in section(made, "answer")) == (state == "kept")


def test_a_flag_has_one_entry_whatever_is_to_be_done_about_it():
    said = section(report_of(load(ROOT / "tests/golden/formats/1.jsonl")), "flags")
    names = re.findall(r"^\*\*([a-z-]+):\*\*", said, re.MULTILINE)
    assert "disturbed" in names
    assert len(set(names)) == len(names)
    assert "| what to do |" in said


def test_several_runs_keep_a_rule_as_the_worst_of_them():
    documents = [
        document(runs.run(*runs.in_launches("shm", 8, 100.0, launches=6))),
        document(imported("osu/latency.txt")),
    ]
    fifth = rules(documents)[4]
    assert fifth.state == "not kept"
    assert [line[:3] for line in fifth.found] == ["A: ", "B: "]


def test_hosts_that_differ_are_marked():
    environments = (
        runs.environment(0, host="one"),
        runs.environment(1, host="two", kernel="Linux 6.2"),
    )
    run = runs.run(*runs.in_launches("tcp", 8, 100.0), environments=environments)
    said = section(report_of(run), "environment")
    assert "| ≠ kernel | Linux 6.1 | Linux 6.2 |" in said
    assert "| processor | A Processor | A Processor |" in said


def test_the_plan_of_the_page_is_that_of_the_run():
    run = runs.run(*runs.in_launches("shm", 8, 100.0))
    said = section(report_of(run), "repeat")
    toml = said.split("The plan:\n\n```\n")[1].split("\n```")[0]
    again = make_plan(python_layer(tomllib.loads(toml)))
    assert again == make_plan(python_layer(run.header.plan))


def test_a_part_of_a_run_is_not_measured_again():
    run = runs.run(*runs.in_launches("shm", 8, 100.0))
    end = msgspec.structs.replace(run.end, reason="stopped by SIGINT")
    stopped = msgspec.structs.replace(run, end=end)
    assert "--resume" in section(report_of(stopped), "trust")
    assert "--resume" not in section(report_of(stopped, whole=False), "trust")


def test_markdown_is_shown_as_it_is_with_every_section_and_table():
    for text, shown in (
        ("<b>", r"\<b\>"), ("a_b*c", r"a\_b\*c"), ("0.24", "0.24"), ("1. first", r"1\. first"),
        ("- x", r"\- x"), ("a\nb", "a b"), ("[x](y)", r"\[x\](y)"),
    ):  # fmt: skip
        assert markdown_escaped(text) == shown
    said = markdown_of(
        runs.run(*runs.in_launches("shm", 8, 100.0), *runs.in_launches("tcp", 8, 5000.0))
    )
    for title in ("What was asked", "The answer", "Tables", "Twelve rules of good measuring"):
        assert f"\n## {title}\n" in said
    assert "\n| transport | " in said
    assert "\n12. " in said
