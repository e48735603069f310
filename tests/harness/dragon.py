"""The runtime of Dragon in tests."""

import sys

# What halftrip promises: a run over Dragon ends within this time after one of its processes.
DRAGON_SECONDS = 20.0
# Starts a runtime on this node, as `dragon -s` does.
RUNTIME = (sys.executable, "-m", "dragon", "-s")
EVERY_DRAGON = "dragon,dragon-pipe,dragon-queue"
EVERY_OBJECT = ("--object", "buffer,bytes,array,dict")
