"""What a report says: the answer, the rules, the environments, how to repeat a run."""

import tomllib

import msgspec

from halftrip.page.answer import answer
from halftrip.page.rules import rules
from halftrip.plan.layers import make_plan, python_layer
from halftrip.render.markdown import escaped
from halftrip.report.document import document
from harness import runs
from harness.curves import run_of
from harness.files import ROOT
from harness.imports import imported_run
from harness.pages import markdown_of, report_of, section

IMPORTS = ROOT / "tests" / "golden" / "imports"


def slices(transport, size, half_ns, launches=1, **changes):
    """A row of ten slices in each launch."""
    return [
        runs.measurement(
            transport, size, half_ns=half_ns, seed=n, slice=n % 10, launch=n // 10, **changes
        )
        for n in range(10 * launches)
    ]


def answered(*measurements, **changes):
    return answer(document(runs.run(*measurements, **changes)))


def imported(name):
    return imported_run((IMPORTS / name).read_bytes())


def kept(run):
    """How the run keeps each rule, by its number."""
    found = rules([document(run)])
    assert len(found) == 12
    return {number: rule.state for number, rule in enumerate(found, 1)}


def test_the_answer_has_the_fastest_path_and_its_interval():
    ranked, latency, bandwidth, trust = answered(
        *slices("shm", 8, 100.0), *slices("tcp", 8, 5000.0), *slices("shm", 65536, 8000.0)
    )
    assert ranked.startswith("8 B: shm is 50.")
    assert latency.startswith("The lowest latency of messages of 8 B is 0.0999")
    assert "over shm (95 % interval" in latency
    assert "the highest is " in latency
    assert bandwidth.startswith("The highest bandwidth is 8.")
    assert "over shm by pingpong of messages of 64 KiB" in bandwidth
    assert "of 3 rows" in trust.lower() or "All 3 rows" in trust


def test_a_single_row_is_no_lowest_and_an_empty_run_has_no_answer():
    latency, bandwidth, trust = answered(*slices("shm", 8, 100.0))
    assert latency.startswith("The latency of messages of 8 B is")
    assert bandwidth.startswith("The bandwidth is")
    assert "only row" in trust
    assert answered() == ["Nothing was measured."]


def names(*found):
    return [each.name for each in report_of(*found).sections if each.blocks]


def test_the_section_that_answers_the_question_comes_first():
    hosts = runs.between_hosts(["n1", "n2", "n3", "n4"], slow=["n3"])
    made = report_of(hosts)
    assert names(hosts)[:3] == ["answer", "pairs", "trust"]
    assert "## The answer\n\nSlow host: n3: 2.00 x" in section(made, "answer")
    assert "All pairs: tcp" in section(made, "pairs")
    assert "All pairs" not in section(made, "curves")
    before, after = (
        runs.run(*slices("shm", 8, 100.0, 3), *slices("tcp", 8, half_ns, 3))
        for half_ns in (5000.0, 7500.0)
    )
    assert names(before, after)[:2] == ["changes", "asked"]
    said = section(report_of(before, after), "changes")
    assert "tcp 8 B takes 1.50 times as long" in said
    assert "Time of b / time of a" in said
    # What has not changed is behind what has.
    table, every = said.split("All rows that both have")
    assert "| slower | tcp |" in table
    assert "| shm |" not in table
    assert "| shm |" in every
    of_layers = runs.run(*slices("shm", 8, 100.0), *slices("mp-shm", 8, 900.0))
    assert names(of_layers)[1] == "layers"
    assert "mp-shm over shm: +0.7998 us" in section(report_of(of_layers), "layers")
    sweep = run_of([(4096, 3000, 0.1)], sizes=[1 << n for n in range(8, 17)])
    assert names(sweep)[1:3] == ["model", "bends"]
    assert "jump to 2" in section(report_of(sweep), "model")
    paths = runs.run(*slices("shm", 8, 100.0), *slices("tcp", 8, 900.0), *slices("mp-shm", 8, 9.0))
    assert names(paths)[1] == "trust"


def test_runs_that_cannot_be_compared_say_why():
    one, other = runs.run(*slices("shm", 8, 100.0)), runs.run(*slices("tcp", 8, 100.0))
    said = section(report_of(one, other), "changes")
    assert "Nothing is compared: " in said


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
    assert "computed from a model" in answered(*slices("simulated", 8, 100.0))[-1]
    ranked, latency, *_ = answered(*slices("shm", 8, 100.0), *slices("shm", 8, 300.0, pair=(2, 3)))
    assert "shm ranks 0-1 is 3.00 (" in ranked
    assert "ranks 0-1" in latency
    assert "ranks 2-3" in latency


def test_a_run_keeps_what_it_can_of_the_rules():
    measured = [*slices("shm", 8, 100.0), *slices("tcp", 8, 5000.0)]
    found = kept(runs.run(*measured))
    assert [found[rule] for rule in (1, 5, 7, 9)] == ["does not apply", "in part", "kept", "kept"]
    assert kept(runs.run(*slices("shm", 8, 100.0, launches=6)))[5] == "kept"
    found = kept(imported("osu/latency.txt"))
    assert [found[rule] for rule in (5, 7, 9, 11)] == ["not kept"] * 4
    # Bounds are of the run.
    without = slices("shm", 8, 100.0, rtts=None)
    assert kept(runs.run(*measured))[11] == "kept"
    assert kept(runs.run(*without, copy_times=()))[11] == "not kept"


def test_several_runs_keep_a_rule_as_the_worst_of_them():
    documents = [
        document(runs.run(*slices("shm", 8, 100.0, launches=6))),
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
    run = runs.run(*slices("tcp", 8, 100.0), environments=environments)
    said = section(report_of(run), "environment")
    assert "| ≠ kernel | Linux 6.1 | Linux 6.2 |" in said
    assert "| processor | A Processor | A Processor |" in said


def test_the_plan_of_the_page_is_that_of_the_run():
    run = runs.run(*slices("shm", 8, 100.0))
    said = section(report_of(run), "repeat")
    toml = said.split("The plan:\n\n```\n")[1].split("\n```")[0]
    again = make_plan(python_layer(tomllib.loads(toml)))
    assert again == make_plan(python_layer(run.header.plan))


def test_a_part_of_a_run_is_not_measured_again():
    run = runs.run(*slices("shm", 8, 100.0))
    end = msgspec.structs.replace(run.end, reason="stopped by SIGINT")
    stopped = msgspec.structs.replace(run, end=end)
    assert "--resume" in section(report_of(stopped), "trust")
    assert "--resume" not in section(report_of(stopped, whole=False), "trust")


def test_texts_in_markdown_are_shown_as_they_are():
    for text, shown in (
        ("<b>", r"\<b\>"), ("a_b*c", r"a\_b\*c"), ("0.24", "0.24"), ("1. first", r"1\. first"),
        ("- x", r"\- x"), ("a\nb", "a b"), ("[x](y)", r"\[x\](y)"),
    ):  # fmt: skip
        assert escaped(text) == shown


def test_markdown_has_every_section_and_table():
    said = markdown_of(runs.run(*slices("shm", 8, 100.0), *slices("tcp", 8, 5000.0)))
    for title in ("What was asked", "The answer", "Tables", "Twelve rules of good measuring"):
        assert f"\n## {title}\n" in said
    assert "\n| transport | " in said
    assert "\n12. " in said
