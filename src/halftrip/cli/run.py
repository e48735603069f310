"""``halftrip run``: measure, and print the first screen."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TextIO

from halftrip.cli import app, syntax
from halftrip.cli.help import Command
from halftrip.cli.inputs import Text, given, loaded
from halftrip.cli.output import STYLE_HELP, TABLE, Form, in_job, listed, speaks, with_parameters
from halftrip.errors import HalftripError, Interrupted, UsageError
from halftrip.plan import parsing
from halftrip.plan.option import Option
from halftrip.plan.options import GROUPS, OPTIONS
from halftrip.plan.recipes import find_plan, purposes
from halftrip.registry import FORMATS, STYLES
from halftrip.texts import printable

if TYPE_CHECKING:
    from halftrip.analysis.baseline import Baseline
    from halftrip.analysis.expectation import Expectations
    from halftrip.cli.run_against import Asked
    from halftrip.job.view import RunView
    from halftrip.plan.plan import Plan
    from halftrip.results.run import Run


class Output(NamedTuple):
    """How a run is printed, whether a page about it is written, too, and whether that is opened."""

    form: Form = TABLE
    has_page: bool = False
    opens_page: bool = False

    def check(self) -> None:
        """Raises UsageError for what cannot be, before anything is measured."""
        self.form.check()
        if self.has_page:
            from halftrip.cli.report import check_needed

            check_needed()

    def write_page(self, path: str, stream: TextIO) -> None:
        """Writes the page of the run in a file, if it is to be, and says so."""
        if self.has_page:
            from halftrip.cli.report import page_name, report_text, write_page

            write_page(report_text([path]), page_name(path), self.opens_page, stream)


AS_USUAL = Output()


def _plans() -> list[tuple[str, str]]:
    """The plans that there are: recipes, and files of this directory."""
    return [*purposes(), *((str(path), "a plan") for path in sorted(Path().glob("*.toml")))]


def _flags() -> list[str]:
    from halftrip.analysis.flags import NAMES
    from halftrip.analysis.verdict import NOT_OK

    return [*NOT_OK, *NAMES]


def _in(group: str, names: str, text: str, metavar: str | None = None, **more: Any) -> Any:
    """An option in a group of the help."""
    return syntax.Option(
        *names.split(),
        help=text,
        group=GROUPS[group],
        metavar=metavar,
        **more,
    )


def run(
    plan: Annotated[
        Text,
        syntax.Argument(
            help="A plan in TOML, or the name of a recipe; options win.", offers=_plans
        ),
    ] = None,
    *,
    resume: Annotated[
        Text, _in("long", "--resume", "Go on with this run file, as a further launch.", "RUN")
    ] = None,
    again: Annotated[
        Text,
        _in(
            "long",
            "--again",
            "With --resume: also rows with these verdicts or flags.",
            "NAME",
            offers=_flags,
        ),
    ] = None,
    against: Annotated[
        Text,
        _in(
            "long", "--against", "Measure what this run file has again, to compare with it.", "RUN"
        ),
    ] = None,
    base_env: Annotated[
        list[str] | None,
        _in(
            "long",
            "--base-env",
            "With --against: measure the base again, too, in turn, with this.",
            "NAME=VALUE",
        ),
    ] = None,
    base_mpiexec: Annotated[
        Text, _in("long", "--base-mpiexec", "The same, with this mpiexec.", "NAME")
    ] = None,
    base_command: Annotated[
        Text,
        _in(
            "long",
            "--base-command",
            "The same, by this command: another installation's halftrip.",
            "NAME",
        ),
    ] = None,
    format_: Annotated[
        str,
        _in(
            "output",
            "--format",
            f"Print {listed(FORMATS)}. [table]",
            "NAME",
            offers=lambda: [*FORMATS],
        ),
    ] = "table",
    json: Annotated[bool, _in("output", "-j", "As --format json.")] = False,
    style: Annotated[
        Text,
        _in(
            "output",
            "--style",
            STYLE_HELP,
            "NAME",
            offers=lambda: [*STYLES],
        ),
    ] = None,
    report: Annotated[bool, _in("output", "--report", "Also write a page about it.")] = False,
    open_: Annotated[bool, _in("output", "--open", "The same, and open it in a browser.")] = False,
    no_config: Annotated[
        bool,
        _in("expert", "--no-config", "Leave out the defaults of ~/.config/halftrip/config.toml."),
    ] = False,
    **options: Any,
) -> int:
    """Measure, and print a table. With no argument: six transports, 1 byte to 4 MiB.

    All but --format, -j, --style, --report, --open, --resume, --again, --against, --base-... and
    --no-config are also keys of a plan. K, M and G are powers of 1024."""
    from halftrip.cli.run_against import Asked

    # Without its flag, an option has the plan's value.
    options = {
        name: None if value == [] or (value is False and not OPTIONS[name].negatable) else value
        for name, value in options.items()
    }
    output = Output(Form("json" if json else format_, style), report or open_, open_)
    asked = Asked(against, base_env, base_mpiexec, base_command)
    if resume is None and again is None:
        return run_plan(plan, options, output, not no_config, asked)
    if asked.is_given:
        raise UsageError("--resume takes what --against said from the file; leave that out")
    return resume_run(plan, resume, again, options, output)


def _option(name: str, option: Option) -> inspect.Parameter:
    """The parameter of an option that is a key of a plan."""
    long = f"--{name.replace('_', '-')}"
    names = " ".join((*option.short, f"{long}/--no-{long[2:]}" if option.negatable else long))
    declared = _in(option.group, names, option.help, None if option.is_flag else option.metavar)
    kind: Any = Text
    if option.is_list:
        kind = list[str] | None
    elif option.is_repeated:
        kind = list[bool] | None
    elif option.is_flag:
        kind = bool | None if option.negatable else bool
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=False if kind is bool else None,
        annotation=Annotated[kind, declared],
    )


def _parameters() -> list[inspect.Parameter]:
    """Those of `run` and the options of a plan that have a help text, in the groups of the help."""
    *own, _ = inspect.signature(run, eval_str=True).parameters.values()
    known = [_option(name, option) for name, option in OPTIONS.items() if option.help]
    if taken := {each.name for each in own}.intersection(each.name for each in known):
        said = "halftrip run has an option of this name already"
        raise UsageError(f"halftrip.settings {min(taken)!r}: {said}")
    titles = [None, *GROUPS.values()]
    return sorted(
        [*known, *own],
        key=lambda each: titles.index(each.annotation.__metadata__[0].group),
    )


app.command("run", cls=Command)(with_parameters(run, _parameters()))


def run_plan(
    plan_file: str | None,
    options: Mapping[str, str | bool | None],
    output: Output = AS_USUAL,
    with_config: bool = True,
    asked: Asked | None = None,
) -> int:
    """Measures, prints the run, writes its page if it is to be, and returns the exit status: 1 if
    nothing was measured, or a configuration failed. The user's own defaults hold `with_config`,
    unless what is `asked` is to measure the plan of an earlier run against it."""
    from halftrip.cli.run_against import plan_against
    from halftrip.plan.layers import config_layer, file_layer, make_plan, options_layer

    if asked is not None and asked.is_given:
        return _measure_plan(plan_against(asked, plan_file, options), output)
    layers = [file_layer(find_plan(plan_file))] if plan_file is not None else []
    is_job = in_job()
    defaults = config_layer(os.environ, is_job, _warn) if with_config else None
    plan = make_plan(*layers, options_layer(options), defaults=defaults, in_job=is_job)
    # A plan file may have it alone: what is expected is then said with the command, or the screen
    # says that it is not.
    if options.get("tolerance") is not None and plan.expect is None and plan.baseline is None:
        raise UsageError("--tolerance: only with --expect or --baseline")
    return _measure_plan(plan, output)


def _warn(line: str) -> None:
    if speaks(line):
        print(f"halftrip: warning: {printable(line)}", file=sys.stderr)


def _measure_plan(plan: Plan, output: Output) -> int:
    from halftrip.analysis.expectation import Expectations
    from halftrip.api import measure
    from halftrip.plan.plan import plan_record
    from halftrip.results.run_file import default_name

    baseline = _baseline(plan.baseline, plan)
    path = Path(plan.output or default_name())
    return _measure(
        path,
        plan.quiet,
        output,
        lambda view: measure(plan, path, view, sys.argv),
        Expectations.of_plan(plan_record(plan), baseline),
        plan.max_duration,
    )


def _baseline(path: str | None, plan: Plan | None = None) -> Baseline | None:
    """The figures of the baseline in the file `path`, on the rank that judges by them; None where
    there is none. Raises UsageError if it has nothing to compare with something in the `plan`."""
    from halftrip.analysis.baseline import Baseline, check_baseline

    if path is None or not speaks():
        return None
    found, name = loaded(path), printable(path)
    if plan is not None:
        check_baseline(found, name, plan)
    return Baseline.of(found, name)


def resume_run(
    plan_file: str | None,
    path: str | None,
    again: str | None,
    options: Mapping[str, str | bool | None],
    output: Output = AS_USUAL,
) -> int:
    """As `run_plan`, for what is left of the run in the file `path`, and for its rows that have one
    of the flags `again`. Raises UsageError for options that belong to a new run."""
    from halftrip.analysis.expectation import Expectations
    from halftrip.api import resume
    from halftrip.results.run_file import load

    if path is None:
        raise UsageError("--again: only with --resume, which names the run file")
    own = ("quiet", "max_duration")
    others = [name for name, value in options.items() if value is not None and name not in own]
    if plan_file is not None or others:
        place = plan_file or f"--{others[0].replace('_', '-')}"
        raise UsageError(f"{place}: --resume takes the plan of {path}; leave it out")
    flags = parsing.items(again) if again is not None else []
    limit = options.get("max_duration")
    seconds = given("--max-duration", parsing.seconds, str(limit)) if limit is not None else None
    expected = Expectations.of_plan(load(path).header.plan)
    expected = expected._replace(baseline=_baseline(expected.named))

    def go_on(view: RunView) -> Path:
        resume(path, flags, view, seconds)
        return Path(path)

    return _measure(Path(path), bool(options.get("quiet")), output, go_on, expected, seconds)


def _measure(
    path: Path,
    quiet: bool,
    output: Output,
    work: Callable[[RunView], Path],
    expected: Expectations,
    seconds: float | None = None,
) -> int:
    """Calls `work`, which returns the path of the run file, within so many seconds, prints the run
    as it is to be, judged by what is `expected`, writes its page, and returns the exit status."""
    from halftrip.cli.live import progress_view
    from halftrip.results.run_file import load

    output.check()
    form = output.form
    # In a job, output goes through the launcher, and some launchers pretend to be a terminal.
    plain = in_job()
    try:
        with progress_view(path, quiet, form == TABLE, expected, seconds) as view:
            path = work(view)
    except Interrupted:
        if not quiet and speaks() and path.exists():
            # A terminal may be gone; how the run ended matters more.
            with contextlib.suppress(HalftripError, OSError):
                _print_run(load(path), path, form, plain, expected)
        raise
    if not speaks():
        return 0
    run = load(path)
    if quiet:
        print(path)
    else:
        _print_run(run, path, form, plain, expected)
    if quiet or form != TABLE:
        _warn_of_printed(run)
    # A program reads all else that is printed.
    output.write_page(str(path), sys.stderr if quiet or form != TABLE else sys.stdout)
    return _status(run, expected, form == TABLE and not quiet, quiet)


def _status(run: Run, expected: Expectations, shown: bool, quiet: bool) -> int:
    """The exit status of a run that is over, judged by what is `expected`, and by what it was
    measured against, which is printed if it is to be `shown`. Raises HalftripError with what is
    missing, where it has not been printed."""
    from halftrip.analysis.expectation import fails
    from halftrip.cli.run_against import status_against
    from halftrip.report.document import document

    if run.interrupted is not None:
        # Not by a signal or a death, which are errors: its time was not enough.
        raise HalftripError(run.interrupted)
    if not run.measurements or run.failures or run.failed_launches:
        if quiet:
            _say_why(run)
        return 1
    slower = status_against(run, shown)
    return slower or int(fails(document(run, flags=False, expectations=expected)))


def _warn_of_printed(run: Run) -> None:
    """A line for what ranks have printed, for whom the run itself does not say it."""
    from halftrip.report.document import printed_once

    for notice in printed_once(run.notices):
        _warn(notice.text)


def _say_why(run: Run) -> None:
    """Raises HalftripError with the first of what was not measured or has failed, if anything."""
    from halftrip.report.document import document
    from halftrip.views.notes import missing

    if said := missing(document(run, flags=False)):
        more = f"; and {len(said) - 1} more: halftrip show" if len(said) > 1 else ""
        raise HalftripError(f"{said[0]}{more}")


def _print_run(run: Run, path: Path, form: Form, plain: bool, expected: Expectations) -> None:
    from halftrip.cli.show import print_first, print_form

    kept = f"; run file: {path}"
    if form == TABLE:
        print_first(run, str(path), expected, plain, kept)
        print(f"run file: {path}")
    else:
        print_form(run, form, expected, kept)
        # A program reads what is printed.
        print(f"run file: {path}", file=sys.stderr)
