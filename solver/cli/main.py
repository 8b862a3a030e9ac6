"""Entry point: arguments in, exit code out, every error one readable line."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence

from solver.config import ConfigError

FINISHED, FAILED, WRONG_INPUT, BLEW_UP, STOPPED_EARLY, INTERRUPTED = 0, 1, 2, 3, 75, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code (the console script exits with it)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _dispatch(words)
    except SystemExit as leaving:  # argparse's --help
        return int(leaving.code or 0)
    except KeyboardInterrupt:
        return _fail(INTERRUPTED, "interrupted", "--debug" in words)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader of our output left: be quiet
        return FAILED
    except Exception as error:
        return _fail(exit_code(error), _one_line(error), "--debug" in words)


def _dispatch(words: list[str]) -> int:
    from solver.cli.arguments import parse_arguments

    options = parse_arguments(words)
    return _command(options.command)(options)


def _command(name: str) -> Callable[..., int]:
    """Imported on demand: `--help` and a wrong option answer at once."""
    if name in ("run", "resume"):
        from solver.cli import run

        return run.run if name == "run" else run.resume
    if name == "check":
        from solver.cli.check import check

        return check
    if name == "plot":
        from solver.cli.plot import plot

        return plot
    from solver.cli import inspect

    return {"info": inspect.info, "verify": inspect.verify}[name]


def exit_code(error: BaseException) -> int:
    """What an error means to a batch script."""
    from solver.cluster import Disagreement, LaunchError
    from solver.loop import BlowUp

    if isinstance(error, ConfigError | LaunchError | Disagreement):
        return WRONG_INPUT
    return BLEW_UP if isinstance(error, BlowUp) else FAILED


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    expected = exit_code(error) != FAILED
    return text if expected else f"{type(error).__name__}: {text}"


def _fail(code: int, message: str, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    print(f"slabwave: error: {message}", file=sys.stderr, flush=True)
    if "jax" in sys.modules and code != BLEW_UP:  # every process sees a blow-up by itself
        from solver.cluster import end_all

        end_all(code, message)
    return code


if __name__ == "__main__":
    sys.exit(main())
