"""Where the buffers of a configuration live: one file per kind."""
