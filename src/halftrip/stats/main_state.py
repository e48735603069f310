"""Names of `series` for modules that still import them from here."""

from __future__ import annotations

from halftrip.stats.series import CaseTimes, Series, case_times, rtt_states, summarize_case

__all__ = ["CaseTimes", "Series", "case_times", "rtt_states", "summarize_case"]
