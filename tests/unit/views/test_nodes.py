"""A line of JSON for each host, for programs that keep hosts out of jobs."""

import json
import re
from itertools import combinations

import msgspec
import pytest

from halftrip.analysis.baseline import Baseline
from halftrip.analysis.expectation import Expectations, fails
from halftrip.cli.show import ShowRequest, show_runs
from halftrip.errors import UsageError
from halftrip.report.document import document
from halftrip.results.records import Failure, LostHost, RunEnd
from halftrip.views import details, nodes
from harness.runs import between_hosts, configuration, environment, save

EXPECTED = Expectations({"latency": 20e-6})


def hosts_run(count, slow=(), ranks_per_host=1, **changes):
    """All pairs of hosts n0, n1, ..."""
    names = [f"n{rank // ranks_per_host}" for rank in range(count * ranks_per_host)]
    return between_hosts(names, slow, **changes)


def of(run_, expected=EXPECTED):
    """The record of each host."""
    said = nodes.render(document(run_, flags=False, expectations=expected))
    records = [json.loads(line) for line in said.splitlines()]
    return {each["host"]: each for each in records}


def verdicts(found):
    return [each["verdict"] for each in found.values()]


def test_a_host_that_was_lost_is_not_measured():
    """One that has never been there, and one that was there for a while."""
    lost = tuple(LostHost(host=f"n{n}", ranks=[n], reason=f"rank {n} on n{n} died") for n in (2, 3))
    found = of(hosts_run(3, lost=lost))
    assert verdicts(found) == ["ok", "ok", "not measured", "not measured"]
    assert [each["lost"] for each in found.values()] == [False, False, True, True]
    assert found["n3"]["reason"].startswith("rank 3 on n3 died")
    back = environment(rank=2, host="n2", launch=1)
    again = hosts_run(3, lost=lost)
    again = msgspec.structs.replace(again, environments=(*again.environments, back))
    assert of(again)["n2"]["lost"] is False


def test_hosts_that_do_what_is_expected_are_ok():
    found = of(hosts_run(3))
    assert list(found) == ["n0", "n1", "n2"]
    each = found["n1"]
    assert (each["verdict"], each["reason"], each["slow"]) == ("ok", None, [])
    assert (each["links"], each["short_links"], each["unsure_links"]) == (2, 0, 0)
    (figure,) = each["figures"]
    assert figure["value"] == pytest.approx(20e-6, rel=0.01)
    assert {name: figure[name] for name in figure if name != "value"} == {
        "transport": "tcp", "pattern": "pingpong", "size_bytes": 8, "figure": "latency",
        "variant": "", "state": "", "unit": "s", "expected": 20e-6, "against": "expect",
        "links": 2, "short_links": 0, "unsure_links": 0, "verdict": "ok",
    }  # fmt: skip


def test_a_slow_host_is_short_and_named_slow_and_no_other_is():
    found = of(hosts_run(5, ("n3",)))
    assert verdicts(found) == ["ok", "ok", "ok", "short", "ok"]
    each = found["n3"]
    assert each["reason"].startswith("tcp pingpong latency 40.")
    assert each["reason"].endswith(" us, expected 20.0 us within 10 %, on 4 of its 4 links")
    assert (each["links"], each["short_links"]) == (4, 4)
    (slow,) = each["slow"]
    assert slow["low"] <= slow["factor"] <= slow["high"]
    assert slow["factor"] == pytest.approx(2, rel=0.05)
    assert (slow["links"], slow["other_host"]) == (4, None)
    ranks = of(hosts_run(3, ("n1",), ranks_per_host=2, slices=2))
    assert verdicts(ranks) == ["ok", "short", "ok"]
    # To the two others, and within it.
    assert ranks["n1"]["links"] == 3
    # Its peers have one such link each, which is not theirs.
    assert (found["n0"]["short_links"], found["n0"]["slow"]) == (1, [])


def test_links_that_are_slow_alone_leave_hosts_unsure():
    found = of(hosts_run(5, ("n1", "n3")))
    assert verdicts(found) == ["ok", "unsure", "ok", "unsure", "ok"]
    assert found["n1"]["reason"].endswith("on its link to n3 alone")
    assert [each["other_host"] for each in found["n1"]["slow"]] == ["n3"]
    # Hosts that talk with one alone.
    pairs = [(0, 1), (0, 2), (0, 3)]
    assert verdicts(of(hosts_run(4, ("n2",), pairs=pairs))) == ["ok", "ok", "short", "ok"]
    # All its links are slow, and those to it say nothing of the others.
    assert verdicts(of(hosts_run(4, ("n0",), pairs=pairs))) == ["short", "ok", "ok", "ok"]
    # What may be chance is unsure.
    found = document(hosts_run(2, ("n1",)), flags=False, expectations=EXPECTED)
    wide = [row._replace(verdict=row.verdict._replace(width=0.9)) for row in found.rows]
    said = nodes.render(found._replace(rows=wide, latency_rows=wide))
    assert [json.loads(line)["verdict"] for line in said.splitlines()] == ["unsure"] * 2
    # Of two hosts it is not known which.
    found = of(hosts_run(2, ("n1",)))
    assert verdicts(found) == ["short", "short"]
    assert found["n0"]["reason"].endswith("on its only link, to n1; either host may be at fault")
    assert found["n0"]["slow"] is None


def test_a_baseline_judges_likewise():
    baseline = Baseline.of(hosts_run(4, ("n0", "n1")), "base.jsonl")
    expected = Expectations({}, baseline)
    assert verdicts(of(hosts_run(4, ("n0", "n1")), expected)) == ["ok"] * 4
    found = of(hosts_run(4, ("n2",)), expected)
    assert verdicts(found) == ["ok", "ok", "short", "ok"]
    assert ", baseline 20.0 us within 10 %, on 3 of its 3 links" in found["n2"]["reason"]


def failure(pair):
    failed = configuration("tcp", 8, "block", pair=pair)
    return Failure(configuration=failed, slice=0, reason="no answer")


def test_a_host_whose_links_failed_is_not_measured_and_the_others_are():
    pairs = [(0, 1), (0, 2), (1, 2)]
    failures = tuple(failure((host, 3)) for host in range(3))
    found = of(hosts_run(4, pairs=pairs, failures=failures))
    assert found["n3"]["verdict"] == "not measured"
    assert "3 of its 3 links failed: no answer" in found["n3"]["reason"]
    assert verdicts(found)[:3] == ["ok"] * 3
    # A link that failed leaves both hosts unsure.
    pairs = [pair for pair in combinations(range(4), 2) if pair != (0, 1)]
    found = of(hosts_run(4, pairs=pairs, failures=(failure((0, 1)),)))
    assert verdicts(found) == ["unsure", "unsure", "ok", "ok"]
    assert found["n0"]["reason"] == "1 of its 3 links failed: no answer"


def test_where_nothing_was_measured_the_reason_is_said():
    stopped = hosts_run(2, end=RunEnd(reason="stopped by SIGINT"))
    found = of(msgspec.structs.replace(stopped, measurements=()))
    assert verdicts(found) == ["not measured"] * 2
    assert "stopped by SIGINT" in found["n0"]["reason"]
    found = of(hosts_run(2), Expectations({"latency": 1.0, "messages": 1e6}))
    assert verdicts(found) == ["not measured"] * 2
    assert found["n0"]["reason"] == "messages was expected, and no row has it"


def test_an_existing_run_is_printed_so(tmp_path, capsys):
    path = str(save(hosts_run(3, ("n2",)), tmp_path / "run.jsonl"))
    assert show_runs([path], ShowRequest(format="nodes", expect="latency=20us")) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["verdict"] for line in lines] == ["ok", "ok", "short"]
    # Where nothing is expected, a host is judged beside the others.
    for fail_if_slow, status in ((None, 0), (True, 1)):
        asked = ShowRequest(format="nodes", fail_if_slow=fail_if_slow)
        assert show_runs([path], asked) == status
        found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [each["verdict"] for each in found] == ["ok", "ok", "short"]
        assert [each["links"] for each in found] == [2, 2, 2]
        assert re.fullmatch(
            r"tcp pingpong 8 B: (1\.9|2\.0)\d times the usual time on all its 2 links",
            found[2]["reason"],
        )
    # A view that does not show the pairs says why it fails, too.
    assert show_runs([path], ShowRequest(views=["why"], fail_if_slow=True)) == 1
    assert "slow host: n2: " in capsys.readouterr().out
    both = ShowRequest(format="nodes", expect="latency=1s", fail_if_slow=True)
    assert show_runs([path], both) == 1
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["verdict"] for each in found] == ["ok", "ok", "short"]
    # But not where something was expected that nobody has said again.
    run = hosts_run(3)
    run.header.plan["baseline"] = "base.jsonl"
    path = str(save(run, tmp_path / "another.jsonl"))
    with pytest.raises(UsageError, match=r"judged by base\.jsonl: name it again by --baseline"):
        show_runs([path], ShowRequest(format="nodes"))


def test_without_expectations_what_cannot_be_told_is_unsure_and_a_slow_link_is_of_both_hosts():
    assert verdicts(of(hosts_run(2), Expectations({}))) == ["unsure"] * 2
    found = of(hosts_run(5, ("n1", "n2")), Expectations({}))
    assert verdicts(found) == ["ok", "unsure", "unsure", "ok", "ok"]
    assert found["n1"]["reason"].endswith("times the usual time on its link to n2 alone")
    whole = json.loads(details.json(document(hosts_run(5, ("n1", "n2")), flags=False)))
    (slow,) = whole["slow"]
    assert (slow["hosts"], slow["size_bytes"]) == (["n1", "n2"], 8)
    assert slow["factor"] == pytest.approx(2.0, rel=0.05)
    # A run that fails if one is slow says so in its plan.
    for names, fails_ in ((("n1", "n2"), True), ((), False)):
        run = hosts_run(5, names)
        run.header.plan["fail_if_slow"] = True
        assert fails(document(run, flags=False)) is fails_


def test_names_of_hosts_do_nothing_on_a_terminal():
    odd = "n\x1b[31m\u202e\n"
    found = document(between_hosts((odd, "n1")), flags=False, expectations=EXPECTED)
    said = nodes.render(found)
    assert said.count("\n") == 2
    assert not {"\x1b", "\u202e"} & {*said}
    assert json.loads(said.splitlines()[0])["host"] == odd
