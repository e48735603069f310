"""A simulated path in virtual time, whose latency, bandwidth and noise are known."""
