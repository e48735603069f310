"""What may follow a command's name: declared in the annotations of the parameters of its function,
``name: Annotated[str | None, syntax.Option("--name", help="...")]``, and read by click."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, get_args, get_origin

import click

from halftrip.errors import UsageError

Offers = Callable[[], Sequence[str | tuple[str, str]]]


class Declaration(NamedTuple):
    """An option, which is written in these forms, or an argument, which has none. `metavar` stands
    for its value in the help; `group` is the title that it is below there; `offers` are the
    candidates that a shell has for its value, some with what they are."""

    forms: tuple[str, ...]
    help: str
    metavar: str | None
    group: str | None
    offers: Offers | None


def Option(  # noqa: N802
    form: str,
    *more: str,
    help: str,  # noqa: A002
    metavar: str | None = None,
    group: str | None = None,
    offers: Offers | None = None,
) -> Declaration:
    """Declares an option."""
    return Declaration((form, *more), help, metavar, group, offers)


def Argument(  # noqa: N802
    *,
    help: str,  # noqa: A002
    metavar: str | None = None,
    offers: Offers | None = None,
) -> Declaration:
    """Declares an argument."""
    return Declaration((), help, metavar, None, offers)


class _Argument(click.Argument):
    """An argument with a help text, which click has from 8.5 on."""

    def make_metavar(self, ctx: click.Context | None = None) -> str:
        shown = self._shown()
        if self.required or shown.startswith("["):
            return shown
        return f"[{shown}]" if self.metavar or self.nargs == 1 else f"[{self.name}]..."

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        return self._shown(), self.declared.help

    def _shown(self) -> str:
        return self.metavar or f"{self.name}{'...' if self.nargs != 1 else ''}"

    declared: Declaration


class _Option(click.Option):
    declared: Declaration


class Command(click.Command):
    """A command with the parameters of its function."""

    def __init__(self, name: str | None, *, callback: Callable[..., Any], **more: Any) -> None:
        parameters = inspect.signature(callback, eval_str=True).parameters.values()
        more["params"] = [_parameter(each) for each in parameters]
        # Arguments too many are found below, in words that say what to do.
        more.setdefault("context_settings", {}).setdefault("allow_extra_args", True)
        super().__init__(name, callback=callback, **more)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            self._check_values(ctx, args)
            left = super().parse_args(ctx, args)
            for each in self.get_params(ctx):
                lacks = each.required and ctx.params.get(each.name or "") is None
                if lacks and not ctx.resilient_parsing:
                    raise click.MissingParameter(ctx=ctx, param=each)
        except click.UsageError as error:
            # The parser of options knows no context.
            error.ctx = error.ctx or ctx
            raise
        if left and not ctx.resilient_parsing:
            taken = [each for each in self.get_params(ctx) if isinstance(each, click.Argument)]
            most = " ".join(each.make_metavar(ctx) for each in taken) or "no argument"
            raise UsageError(
                f"{' '.join(left)}: too much: {self.name} takes {most}; {ctx.command_path} --help"
            )
        return left

    def _check_values(self, ctx: click.Context, args: Sequence[str]) -> None:
        """Raises BadOptionUsage where the value of an option has been forgotten, and the next
        option would be taken for it."""
        found = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        options = {form: each for each in found for form in each.opts}
        for name, value in pairwise(args):
            if name == "--" or ctx.resilient_parsing:
                return
            if name in options and not options[name].is_flag and value in options:
                raise click.BadOptionUsage(name, f"{name} needs a value", ctx=ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Arguments, and options in their groups; the help itself comes last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                kind = "Arguments" if isinstance(parameter, _Argument) else "Options"
                sections.setdefault(group_of(parameter) or kind, []).append(record)
        sections["Options"] = sections.pop("Options")
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def group_of(parameter: click.Parameter) -> str | None:
    """The title that a parameter is below in the help."""
    return parameter.declared.group if isinstance(parameter, (_Option, _Argument)) else None


def offered(parameter: click.Parameter) -> Iterator[tuple[str, str]]:
    """The values of a parameter that its declaration offers, each with what it is."""
    if isinstance(parameter, (_Option, _Argument)) and parameter.declared.offers:
        for each in parameter.declared.offers():
            yield (each, "") if isinstance(each, str) else each


def _listed(_: click.Context, __: click.Parameter, values: tuple[Any, ...]) -> list[Any] | None:
    return [*values] or None


def _parameter(parameter: inspect.Parameter) -> click.Parameter:
    kind, declared = get_args(parameter.annotation)
    kinds = (kind, *get_args(kind))
    several = next((each for each in kinds if get_origin(each) is list), None)
    is_flag = bool in (*kinds, *get_args(several))
    required = parameter.default is inspect.Parameter.empty
    more: dict[str, Any] = {"required": required, "metavar": declared.metavar}
    if not required:
        more["default"] = None if several else parameter.default
    elif declared.forms:
        # Without a default, some versions of click let the option stand without a value, and with
        # this one they do not miss it: see `parse_args`.
        more["default"] = None
    if several:
        more["callback"] = _listed
    made: _Option | _Argument
    if declared.forms:
        names = [parameter.name, *declared.forms]
        made = _Option(names, help=declared.help, is_flag=is_flag, multiple=bool(several), **more)
    else:
        made = _Argument([parameter.name], nargs=-1 if several else 1, **more)
    made.declared = declared
    return made
