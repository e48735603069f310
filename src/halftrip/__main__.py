"""``halftrip`` and ``python -m halftrip``."""

# Not `signal`: while that makes its enumerations, an interrupt would end Python with a traceback.
import _signal  # type: ignore[import-not-found]
import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # Python has put the working directory first, in which anybody may have put a module.
    del sys.path[0]

_NAMES = {_signal.SIGINT: "SIGINT", _signal.SIGTERM: "SIGTERM", _signal.SIGHUP: "SIGHUP"}
# With less address space, bytes, no run can begin, and some libraries crash while they are loaded.
_LEAST_ADDRESS_SPACE = 128 << 20
# The variables in which launchers set a rank's number and the size of the job, as in
# `halftrip.job.existing`. In the shell of a Slurm batch job there is a number but no size.
_RANKS = {
    "OMPI_COMM_WORLD_RANK": "OMPI_COMM_WORLD_SIZE",
    "PMI_RANK": "PMI_SIZE",
    "SLURM_PROCID": "SLURM_STEP_NUM_TASKS",
}


def _leave(number: int, _: object) -> None:
    """Ends this process with one line of text: from now until a run begins, and again after it.

    There is nothing to clean up at these times. An exception would not do: raised in a callback of
    the import system or in a destructor, it is printed and ignored. An interrupt before this module
    is loaded, while the interpreter starts, has Python's own effect: the process ends in silence at
    first, with a traceback later. No code of halftrip's can run any earlier.
    """
    ranks = [
        os.environ[rank]
        for rank, size in _RANKS.items()
        if rank in os.environ and os.environ.get(size, "1") != "1"
    ]
    # A launcher sends SIGTERM after a death that has been reported already.
    if not ranks or (number == _signal.SIGINT and "0" in ranks):
        try:
            os.write(2, f"halftrip: stopped by {_NAMES[number]}\n".encode())
        finally:
            # Also where the terminal is gone.
            os._exit(128 + number)
    os._exit(128 + number)


for _number in _NAMES:
    # A signal that the parent process has ignored stays ignored.
    if _signal.getsignal(_number) != _signal.SIG_IGN:
        _signal.signal(_number, _leave)


def main() -> None:
    """Runs the command line and exits; see `halftrip.cli.main`."""
    import gc
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if 0 <= most < _LEAST_ADDRESS_SPACE:
        allowed, needed = most >> 20, _LEAST_ADDRESS_SPACE >> 20
        said = f"no memory: ulimit -v allows {allowed} MiB, halftrip needs {needed}"
        os.write(2, f"halftrip: {said}\n".encode())
        os._exit(1)
    # numpy's BLAS would start a thread per core in every process, the ranks included, for nothing:
    # halftrip multiplies no large matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imports leave no garbage, and looking for it is a tenth of the time that --help takes.
    gc.disable()
    from halftrip.job import forks

    if sys.argv[1:2] == ["run"] and _RANKS.keys().isdisjoint(os.environ):
        # While this process imports the rest, another one imports what ranks need.
        forks.begin(sys.argv[2:])
    try:
        from halftrip.cli import main as run
    except (ImportError, MemoryError) as error:
        if isinstance(error, ImportError) and "failed to map segment" not in str(error):
            raise
        os.write(2, b"halftrip: no memory is left\n")
        os._exit(1)

    gc.enable()
    try:
        run()
    finally:
        forks.end()


if __name__ == "__main__":
    main()
