"""A stand-in for ssh: it runs a command on this machine, under another host's name."""

import shlex

from harness.need import can_unshare, need


def stand_in(directory, refused=(), name="ssh-stand-in"):
    """A program of that name, quoted, that takes ``[-options] HOST COMMAND`` and calls the shell as
    ssh does; hosts of `refused` names are not reached."""
    need(can_unshare("-u"), "no UTS namespaces are allowed here")
    path = directory / name
    cases = "".join(
        f"{name}) echo 'ssh: connect to host {name} port 22: No route to host' >&2; exit 255;; "
        for name in refused
    )
    path.write_text(
        "#!/bin/bash\n"
        'while [[ "$1" == -* ]]; do [[ "$1" == -o ]] && shift; shift; done\n'
        "host=$1; shift\n"
        f"case $host in {cases} esac\n"
        'exec unshare -u bash -c "hostname $host; exec $*"\n'
    )
    path.chmod(0o755)
    return shlex.quote(str(path))
