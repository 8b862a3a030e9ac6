"""The command line's grammar."""

from __future__ import annotations

import argparse
import re

from solver.config import ConfigError, nearest

COMMANDS = {
    "run": "start a run, or with --resume continue it",
    "resume": "continue a run from its directory alone",
    "check": "validate a run file and print its plan; runs nothing",
    "info": "what a run is and where it stands",
    "verify": "compare every checksum in a run's directory",
    "plot": "figures of a run's series, spectra and slices",
}
OVERRIDABLE = ("run", "resume", "check")
OVERRIDE = re.compile(r"[A-Za-z_][\w.]*\s*=")
EPILOG = """exit codes: 0 finished; 2 wrong command line or run file, occupied directory, missing input;
3 the solution blew up; 75 stopped early with a checkpoint written; anything else is a failure"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise ConfigError(f"{message}; see slabwave --help")


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The command and its options.

    Raises:
        ConfigError: unknown command or option, or a missing argument.
    """
    words = [a for a in arguments if not a.startswith("-")]
    if words and words[0] not in COMMANDS:
        raise ConfigError(f"{words[0]!r}: unknown command{nearest(words[0], COMMANDS)}")
    # overrides may stand anywhere, also on both sides of an option, which argparse cannot read
    overrides = [a for a in arguments if OVERRIDE.match(a)]
    options = _parser().parse_args([a for a in arguments if not OVERRIDE.match(a)])
    if overrides and options.command not in OVERRIDABLE:
        raise ConfigError(f"{overrides[0]!r}: {options.command} takes no overrides")
    options.overrides = overrides
    return options


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="slabwave",
        description="Distributed Fourier spectral solver for partial differential equations.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    made = {name: commands.add_parser(name, help=text, description=text) for name, text in COMMANDS.items()}
    for command in made.values():
        command.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    for name in ("run", "check"):
        made[name].add_argument("file", help="run file (TOML)")
    for name in ("resume", "info", "verify", "plot"):
        made[name].add_argument("directory", help="a run's directory")
    for name in OVERRIDABLE:
        made[name].epilog = "section.key=value, any number of them, override keys of the run file"
    made["run"].add_argument("--resume", action="store_true", help="continue from the newest valid checkpoint, if any")
    made["check"].add_argument("--devices", type=int, metavar="N", help="plan for so many devices")
    for name in ("run", "resume"):
        _add_address(made[name])
    return parser


def _add_address(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("several processes without a known launcher")
    group.add_argument("--coordinator", metavar="HOST:PORT", help="where they meet; process 0 listens there")
    group.add_argument("--processes", type=int, metavar="N", help="how many there are")
    group.add_argument("--process", type=int, metavar="I", help="which one this is, from 0")
