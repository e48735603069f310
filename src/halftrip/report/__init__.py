"""What is looked at: tables and styles, each a pure function of a Run."""
