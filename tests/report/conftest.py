"""The runs that are looked at."""

from made_runs import blown_up, empty, finished, line, running, sliced  # noqa: F401
