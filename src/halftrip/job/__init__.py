"""The processes of a run: started, supervised, ended."""
