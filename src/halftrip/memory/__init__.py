"""Where the buffers of a case live: one file per kind."""
