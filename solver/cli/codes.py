"""Exit codes of the command line."""

FINISHED = 0
FAILED = 1
WRONG_INPUT = 2
BLEW_UP = 3
STOPPED_EARLY = 75
INTERRUPTED = 130
