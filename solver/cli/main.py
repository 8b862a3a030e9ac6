"""Entry point: arguments in, exit code out, every error one readable line."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence

from solver.cli.codes import BLEW_UP, FAILED, INTERRUPTED, STALLED, STOPPED_EARLY, WRONG_INPUT
from solver.config import ConfigError
from solver.stop import remember_signals

STEPPING = {"run", "resume"}  # commands that signals lead to a checkpoint
SECONDS_TO_HEAR = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the words after `slabwave`; those of this process if None.

    Returns:
        Its exit code. The process goes on; `entry` ends it.
    """
    return _run(list(sys.argv[1:] if arguments is None else arguments))[0]


def entry() -> None:
    """The console script: run one command and end this process, and with it, on a failure, the others of its job."""
    if STEPPING & set(sys.argv[1:]):
        remember_signals()
    code, failure = _run(sys.argv[1:])
    _flush()
    if failure and code != BLEW_UP and "jax" in sys.modules:  # every process sees a blow-up by itself
        from solver.cluster import end_all, service_client

        # an interrupted process leaves at once, as was asked: a thread of it may be writing
        if service_client() is not None or code == INTERRUPTED:
            end_all(code, failure)
    sys.exit(code)


def _run(words: list[str]) -> tuple[int, str]:
    """Exit code, and the line that says what failed."""
    try:
        from solver.cli.arguments import command, parse_arguments

        options = parse_arguments(words)
        return int(command(options.command).run(options)), ""
    except SystemExit as leaving:  # argparse's --help
        return int(leaving.code or 0), ""
    except KeyboardInterrupt:
        return _failed(INTERRUPTED, "interrupted", words)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader of our output left: be quiet
        return FAILED, ""
    except Exception as error:
        _await_the_one_that_failed(error)
        return _failed(exit_code(error), _one_line(error), words)


def _await_the_one_that_failed(error: Exception) -> None:
    """Where another process failed, it says why, and its message ends this one; nothing is to be added."""
    if "jax" in sys.modules:
        from solver.cluster import FailedElsewhere

        if isinstance(error, FailedElsewhere):
            time.sleep(SECONDS_TO_HEAR)


def _flush() -> None:
    """Python would fail again, and with its own exit code, on what a full disk did not take."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def exit_code(error: BaseException) -> int:
    """What an error means to a batch script."""
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
    text = " ".join(str(error).split()) or type(error).__name__
    expected = exit_code(error) != FAILED or _says_enough(error)
    return text if expected else f"{type(error).__name__}: {text}"


def _says_enough(error: BaseException) -> bool:
    """Whether an error's own text is a line for the user."""
    if "solver.io" not in sys.modules:
        return False
    from solver.io import CheckpointError, DiskError

    return isinstance(error, CheckpointError | DiskError)


def _failed(code: int, message: str, words: list[str]) -> tuple[int, str]:
    if "--debug" in words:
        traceback.print_exc()
    print(f"slabwave: error: {message}", file=sys.stderr, flush=True)
    return code, message


if __name__ == "__main__":
    entry()
