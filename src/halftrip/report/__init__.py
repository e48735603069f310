"""Tables, views and styles: each a pure function of the document of a run."""
