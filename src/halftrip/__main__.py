"""``halftrip`` and ``python -m halftrip``."""

# Not `signal`, which makes enumerations first: an interrupt that came meanwhile would be Python's.
import _signal  # type: ignore[import-not-found]
import os

_NAMES = {_signal.SIGINT: "SIGINT", _signal.SIGTERM: "SIGTERM"}
# By which a launcher tells a rank which it is.
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")


def _leave(number: int, _: object) -> None:
    """Ends this process in one line, from now until a run begins, and again after it.

    There is nothing to clear away then, and an exception would not do: in a callback of the import
    system or in a destructor it is printed, not raised. An interrupt that comes before this module
    is read, while the interpreter itself is starting, ends it as Python has it: in silence at
    first, with a traceback of Python's own later. Nothing of ours can be there any earlier.
    """
    told = [os.environ[name] for name in _RANKS if name in os.environ]
    # A launcher's SIGTERM follows on a death that has been told already.
    if not told or (number == _signal.SIGINT and "0" in told):
        os.write(2, f"halftrip: stopped by {_NAMES[number]}\n".encode())
    os._exit(128 + number)


for _number in _NAMES:
    # Who starts a program with a signal ignored wants it so.
    if _signal.getsignal(_number) != _signal.SIG_IGN:
        _signal.signal(_number, _leave)


def main() -> None:
    """Runs the command line and exits; see `halftrip.cli.main`."""
    import gc

    # Imports make no garbage, and looking for it is a tenth of the time until there is help.
    gc.disable()
    from halftrip.cli import main as run

    gc.enable()
    run()


if __name__ == "__main__":
    main()
