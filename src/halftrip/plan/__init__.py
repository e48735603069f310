"""What to measure: the plan, its options, sizes, configurations and pairs."""
