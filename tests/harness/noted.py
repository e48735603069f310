"""A view that keeps what it is told."""

from halftrip.job.view import NoView


class Noted(NoView):
    def __init__(self):
        self.lines, self.progress = [], []

    def warn(self, lines):
        self.lines += lines

    def update(self, done, total, what, later=0):
        self.progress.append((what, later))
