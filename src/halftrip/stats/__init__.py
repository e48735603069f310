"""Statistics of samples: pure functions of arrays."""
