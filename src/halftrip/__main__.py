"""``halftrip`` and ``python -m halftrip``."""

import gc
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Runs the command line; see `halftrip.cli.main`."""
    try:
        # Imports make no garbage, and looking for it is a tenth of the time until there is help.
        gc.disable()
        from halftrip.cli import main as run

        gc.enable()
        run()
    except KeyboardInterrupt:
        # Before or after the run: within it, the launcher deals with signals.
        print("halftrip: stopped by SIGINT", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
