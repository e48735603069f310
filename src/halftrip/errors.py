"""Errors that a person can cause or mend. Each message is one line."""

import errno
import os
import resource


class HalftripError(Exception):
    """The run cannot go on; the message is one line that says why. Exit status 1."""


class UsageError(HalftripError):
    """A wrong option, plan key, size, core or file: what, where, what is allowed. Exit status 2."""


class NotARunError(UsageError):
    """A file that can be read, and is no run file."""


class Unavailable(HalftripError):
    """A transport or a configuration cannot be used here: it is skipped with this reason, the rest
    runs."""


def system_reason(error: OSError) -> str:
    """What the system says is wrong, without the number and the file names of the error."""
    return error.strerror or str(error)


# What is short is the machine's, or a limit of its administrator's.
_SHORT_ERRNOS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EAGAIN}


# What no system is without, but for a container that lacks a mount.
_NEEDED = (os.devnull, "/proc")

# Errors of imports where there is no memory: of a shared object, and of a codec, which Python
# imports when it is first needed.
_NO_MEMORY_FOR_MODULES = ("failed to map segment", "unknown encoding: idna")
# Whatever it is that says that something is short.
SHORTAGES = (OSError, MemoryError, RuntimeError, ImportError, LookupError, SystemError)
# What a rank leaves with that has too little of anything (sysexits.h, EX_OSERR).
SHORTAGE_STATUS = 71


def shortage(error: BaseException) -> str | None:
    """What is short, or missing, of the machine, in a few words, where that is what an error says;
    None for any other error, which is a defect."""
    if isinstance(error, MemoryError):
        return "no memory is left"
    if isinstance(error, OSError):
        return _short_of_system(error)
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return "no more threads can be started: a limit on processes, or on memory"
    if isinstance(error, ImportError | LookupError) and any(
        said in str(error) for said in _NO_MEMORY_FOR_MODULES
    ):
        return "no memory is left"
    # So fails a function in C that got no memory and does not say so. Without a limit it would be a
    # defect.
    if isinstance(error, SystemError) and "without exception set" in str(error):
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        return None if limit == resource.RLIM_INFINITY else "no memory is left"
    return None


def _short_of_system(error: OSError) -> str | None:
    said = system_reason(error).lower()
    if error.errno == errno.EMFILE:
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return f"{said}: raise the limit (ulimit -n), which is {most}"
    if error.filename in _NEEDED:
        return f"{error.filename}: {said}; halftrip needs it"
    return said if error.errno in _SHORT_ERRNOS else None


class Interrupted(HalftripError):
    """The run was ended from outside: a rank or the launcher died, or a signal arrived.

    `told`: the user has been told already, as soon as the end was noticed.
    """

    def __init__(self, reason: str, told: bool = False) -> None:
        super().__init__(reason)
        self.told = told


class Stopped(Interrupted):
    """A signal has arrived, or the time of the run is over: nothing else is to be measured."""
