"""What other tools have printed, as runs of halftrip's."""
