"""Summaries, usage, flags and breakpoints: pure functions of a run."""
