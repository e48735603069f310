"""What writes blocks: one module per format."""
