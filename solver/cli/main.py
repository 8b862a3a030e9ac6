"""Entry point: runs a command, prints every error as one readable line, and returns an exit code."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence

from solver.cli import BLEW_UP, FAILED, INTERRUPTED, STALLED, STOPPED_EARLY, WRONG_INPUT
from solver.cli.streams import OutputError, flush_or_drop, prepare_streams
from solver.config import ConfigError
from solver.stop import remember_signals

WAIT_SECONDS = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the words after `slabwave`; this process's words if None.

    Returns:
        The exit code of the command. This function does not end the process; `entry` does.
    """
    return _run(list(sys.argv[1:] if arguments is None else arguments))[0]


def entry() -> None:
    """The console script: run one command and end this process; after a failure, also the others of its job."""
    prepare_streams()
    # read when NumPy is imported: plans and walls need many small matrices, for which threads wait more than they work
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code, failure = _run(sys.argv[1:], catch=True)
    flush_or_drop()
    if failure and code != BLEW_UP and "jax" in sys.modules:  # every process sees a blow-up by itself
        from solver.cluster import end_all, service_client

        # an interrupted process ends at once, even if a thread of it is still writing
        if service_client() is not None or code == INTERRUPTED:
            end_all(code, failure)
    sys.exit(code)


def _run(words: list[str], *, catch: bool = False) -> tuple[int, str]:
    """Exit code, and the error message of a failure; with `catch` signals are remembered for a command that stops."""
    try:
        return _run_command(words, catch=catch), ""
    except SystemExit as leaving:
        return int(leaving.code or 0), ""
    except KeyboardInterrupt:
        return _failed(INTERRUPTED, "interrupted", words)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader of our output is gone
        return FAILED, ""
    except Exception as error:
        _wait_for_failed_process(error)
        return _failed(exit_code(error), _one_line(error), words)


def _run_command(words: list[str], *, catch: bool) -> int:
    from solver.cli.arguments import command, parse_arguments

    try:
        options = parse_arguments(words)
    except SystemExit as leaving:  # argparse's --help
        sys.stdout.flush()
        return int(leaving.code or 0)
    chosen = command(options.command)
    stops_early = getattr(chosen, "STOPS_EARLY", False)
    if catch and stops_early:
        remember_signals()  # before `run` imports JAX, which takes long
    code = int(chosen.run(options))
    if not stops_early:  # what a run says is in its log, too
        sys.stdout.flush()
    return code


def _wait_for_failed_process(error: Exception) -> None:
    """If another process failed, wait until its message ends this process, so that only one message is printed."""
    if "jax" in sys.modules:
        from solver.cluster import FailedElsewhere

        if isinstance(error, FailedElsewhere):
            time.sleep(WAIT_SECONDS)


def exit_code(error: BaseException) -> int:
    """The exit code for an error."""
    if isinstance(error, ConfigError):
        return WRONG_INPUT
    if "jax" not in sys.modules:
        return FAILED
    from solver.cluster import Disagreement, LaunchError, NotAllThere, StoppedWaiting
    from solver.loop import BlowUp

    if isinstance(error, NotAllThere):
        return STALLED
    if isinstance(error, StoppedWaiting):
        return INTERRUPTED if error.signal == signal.SIGINT else STOPPED_EARLY
    if isinstance(error, LaunchError | Disagreement):
        return WRONG_INPUT
    return BLEW_UP if isinstance(error, BlowUp) else FAILED


def _one_line(error: BaseException) -> str:
    text = _with_its_place(str(error)) or type(error).__name__
    expected = exit_code(error) != FAILED or _says_enough(error)
    return text if expected else f"{type(error).__name__}: {text}"


def _says_enough(error: BaseException) -> bool:
    """True if an error's own text is a complete message for the user."""
    if isinstance(error, OutputError):
        return True
    if "solver.io" not in sys.modules:
        return False
    from solver.io import CheckpointError, DiskError

    return isinstance(error, CheckpointError | DiskError)


def _failed(code: int, message: str, words: list[str]) -> tuple[int, str]:
    if "--debug" in words:
        traceback.print_exc()
    print(f"slabwave: error: {message}", file=sys.stderr, flush=True)
    return code, message


def _with_its_place(text: str) -> str:
    """A message as one line; the place in an equation's text that it shows stays below it."""
    said, newline, shown = text.partition("\n    ")
    is_place = shown.rstrip().endswith("^")
    return f"{' '.join(said.split())}{newline}{shown}" if is_place else " ".join(text.split())


if __name__ == "__main__":
    entry()
