"""Entry point: arguments in, exit code out, every error one readable line."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

from solver.cli.codes import BLEW_UP, FAILED, INTERRUPTED, WRONG_INPUT
from solver.config import ConfigError


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
    code, failure = _run(sys.argv[1:])
    if failure and code != BLEW_UP and "jax" in sys.modules:  # every process sees a blow-up by itself
        from solver.cluster import end_all

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
        return _failed(exit_code(error), _one_line(error), words)


def exit_code(error: BaseException) -> int:
    """What an error means to a batch script."""
    if isinstance(error, ConfigError):
        return WRONG_INPUT
    if "jax" not in sys.modules:
        return FAILED
    from solver.cluster import Disagreement, LaunchError
    from solver.loop import BlowUp

    if isinstance(error, LaunchError | Disagreement):
        return WRONG_INPUT
    return BLEW_UP if isinstance(error, BlowUp) else FAILED


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    expected = exit_code(error) != FAILED
    return text if expected else f"{type(error).__name__}: {text}"


def _failed(code: int, message: str, words: list[str]) -> tuple[int, str]:
    if "--debug" in words:
        traceback.print_exc()
    print(f"slabwave: error: {message}", file=sys.stderr, flush=True)
    return code, message


if __name__ == "__main__":
    entry()
