"""What to measure: the plan, its options, sizes, cases and pairs."""
