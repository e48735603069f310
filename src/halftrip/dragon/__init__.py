"""The Dragon runtime: its command, how a process joins it, its library."""
