"""What to measure: the options, the sizes, the cases, the pairs."""
