"""How long a test waits."""

# Longer than anything takes, however busy this machine is.
AMPLE_SECONDS = 120.0
# What halftrip promises: after the end of a run, or of one of its processes, nothing is left for
# longer.
END_SECONDS = 5.0
