"""Tables, views and formats: each a pure function of the document of a run."""
