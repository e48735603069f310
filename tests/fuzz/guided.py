"""As `run_files`, but led by what each input reaches, with atheris (pip install 'halftrip[fuzz]').

    python tests/fuzz/guided.py -max_total_time=600

The arguments are those of libFuzzer. It stops at the first input that fails, and keeps it in
`cases`.
"""

import inspect
import random
import sys
import tempfile
from functools import cached_property
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz import run_files
from fuzz.mutate import mutated

_LARGEST = 1 << 16


def _mutate(data: bytes, most: int, seed: int) -> bytes:
    lines = data.splitlines(keepends=True) or [b"\n"]
    return mutated(lines, random.Random(seed))[:most]


def instrument() -> None:
    """Watches all functions of halftrip. Not as they are imported: the finder of an editable
    install comes first."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "halftrip":
            for each in list(vars(module).values()):
                _instrument(each, name)


def _instrument(each: object, module: str) -> None:
    if inspect.isclass(each) and each.__module__ == module:
        for inner in list(vars(each).values()):
            _instrument(inner, module)
    elif isinstance(each, property | cached_property):
        _instrument(each.fget if isinstance(each, property) else each.func, module)
    elif inspect.isfunction(each) and each.__module__ == module:
        atheris.instrument_func(each)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        for number, lines in enumerate(run_files.seeds()):
            (corpus / str(number)).write_bytes(b"".join(lines))
        path = Path(folder) / "run.jsonl"

        def try_input(data: bytes) -> None:
            draw = random.Random(data)
            failure = run_files.failure_of(data, path, 1, draw)
            if failure is not None:
                raise AssertionError(f"{run_files.keep(failure)}:\n{failure.why}")

        arguments = [sys.argv[0], str(corpus), f"-max_len={_LARGEST}", *sys.argv[1:]]
        # What views import when they are needed has to be there to be watched.
        failure = run_files.failure_of((corpus / "0").read_bytes(), path)
        assert failure is None
        instrument()
        atheris.Setup(arguments, try_input, custom_mutator=_mutate)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
