"""The ways to start ranks, one file each; `in_process` measures a simulated path without any."""
