"""A path that exists only in virtual time, of known latency, bandwidth and noise."""
