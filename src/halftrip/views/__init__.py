"""What there is to see of runs: a module per view, a function that makes blocks of runs."""
