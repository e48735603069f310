"""What was measured, as frozen values, and the file that holds them."""
