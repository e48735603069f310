"""What a machine is and does, read from the kernel: never inside a timed region."""
