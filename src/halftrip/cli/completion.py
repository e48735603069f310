"""``halftrip completion``: what a shell offers where a word is begun.

A script for each shell asks ``halftrip completion words -- WORDS`` for the candidates for the last
of the words: one a line, with what it is behind a tab. Where there is none the shell offers files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import click

from halftrip.cli import app, syntax
from halftrip.cli.inputs import Text
from halftrip.cli.output import writing
from halftrip.errors import UsageError
from halftrip.plan.options import OPTIONS
from halftrip.spelling import nearest

# Bash cuts words at : and =, and replaces only what is behind the last of them.
_BASH = r"""_halftrip() {
    local line=${COMP_LINE:0:COMP_POINT} last kept word found
    local -a words
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    last=${words[${#words[@]}-1]}
    kept=${last%"${last##*[:=]}"}
    COMPREPLY=()
    while IFS=$'\t' read -r word found; do
        COMPREPLY+=("${word#"$kept"}")
    done < <("$1" completion words -- "${words[@]:1}" 2>/dev/null)
}
complete -o default -F _halftrip halftrip
"""
_ZSH = r"""#compdef halftrip
_halftrip() {
    local line
    local -a found
    for line in "${(@f)$($words[1] completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    (( $#found )) && _describe halftrip found || _files
}
compdef _halftrip halftrip
"""
_FISH = r"""function __halftrip_words
    set -l words (commandline -opc)
    set -l found ($words[1] completion words -- $words[2..] (commandline -ct) 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c halftrip -f -a '(__halftrip_words)'
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}

# Candidates, and what each is.
_Candidates = Iterable[tuple[str, str]]


@app.command("completion")
def completion(
    shell: Annotated[
        Text,
        syntax.Argument(help="bash, zsh or fish; words: for these.", offers=lambda: [*SCRIPTS]),
    ] = None,
    words: Annotated[list[str] | None, syntax.Argument(help="Words to complete.")] = None,
) -> None:
    """Print what makes a shell complete words.

    In ~/.bashrc: eval "$(halftrip completion bash)"."""
    if shell is None:
        raise UsageError(f"completion: for which shell? allowed: {', '.join(SCRIPTS)}")
    if shell != "words" and shell not in SCRIPTS:
        raise UsageError(f"{shell}: no such shell; {nearest(shell, SCRIPTS)}")
    with writing():
        if shell != "words":
            print(SCRIPTS[shell], end="")
            return
        for candidate, what in candidates(
            click.get_current_context().find_root().command, words or []
        ):
            print(f"{candidate}\t{what}")


def candidates(commands: Any, words: Sequence[str]) -> list[tuple[str, str]]:
    """What the last of the words, which follow the program's name, may become."""
    before, last = (words[:-1], words[-1]) if words else ((), "")
    command, waiting, place = _place(commands, before)
    if waiting is not None:
        return _matching(_values(commands, waiting), last)
    option, equals, value = last.partition("=")
    if last.startswith("--") and equals:
        parameter = _option(command, option)
        values = _values(commands, parameter) if parameter is not None else []
        return [(f"{option}={each}", what) for each, what in _matching(values, value)]
    if last.startswith("-"):
        return [each for each in _options(command) if each[0].startswith(last)]
    if command is commands:
        return _matching(_commands(commands), last)
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    if place >= len(arguments):
        return []
    return _matching(_values(commands, arguments[place]), last)


def _place(commands: Any, words: Sequence[str]) -> tuple[Any, Any, int]:
    """Where the words lead: to which command, to which of its options that waits for its value
    (None: none does), and how many arguments it has had."""
    command, waiting, arguments = commands, None, 0
    for word in words:
        if waiting is not None:
            waiting = None
        elif word.startswith("-"):
            parameter = _option(command, word)
            waiting = parameter if parameter is not None and not parameter.is_flag else None
        elif command is commands:
            command = commands.commands.get(word, commands)
        else:
            arguments += 1
    return command, waiting, arguments


def _option(command: Any, form: str) -> Any:
    """The option that is written in this form; None if there is none."""
    found = (each for each in command.params if form in (*each.opts, *each.secondary_opts))
    return next(found, None)


def _options(command: Any) -> _Candidates:
    for parameter in command.params:
        if parameter.param_type_name == "option":
            for form in (*parameter.opts, *parameter.secondary_opts):
                if form.startswith("--"):
                    yield form, parameter.help
    yield "--help", "Show the help."


def _commands(commands: Any) -> _Candidates:
    return [(name, each.get_short_help_str(70)) for name, each in commands.commands.items()]


def _values(commands: Any, parameter: Any) -> _Candidates:
    """What the value of an option or an argument may be: what its declaration offers, or the table
    of options; nothing: any text, or a file."""
    if parameter.name == "command":
        return _commands(commands)
    if parameter.name in OPTIONS:
        return [(value, "") for value in OPTIONS[parameter.name].values]
    return [*syntax.offered(parameter)]


def _matching(found: _Candidates, begun: str) -> list[tuple[str, str]]:
    """The candidates for a value that is begun, which may be a list, or the settings of both ends:
    what is before its last comma or colon stays."""
    last = max(begun.rfind(","), begun.rfind(":")) + 1
    before = begun[:last]
    return [
        (before + name, what)
        for name, what in found
        if name.startswith(begun[last:]) and name not in before.split(",")
    ]
