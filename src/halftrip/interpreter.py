"""How halftrip starts Python again."""

import sys

# Runs a module that follows. With -P nothing is imported from the working directory, in which
# anybody may have put a module.
RUN_MODULE = (sys.executable, "-P", "-m")
