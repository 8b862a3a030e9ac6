"""The command line's grammar, made from the files in `commands/`: a file is a command, its first line what it does."""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import io
import platform
import re
from importlib import metadata
from pathlib import Path
from types import ModuleType

from solver.config import SECTIONS, ConfigError, nearest

PACKAGE = "solver.cli.commands"
OVERRIDE = re.compile(r"(?P<first>[A-Za-z_][\w-]*)(?P<rest>(\.([\w-]+|\"[^\"]*\"))*)\s*=")
EPILOG = """exit codes: 0 finished; 2 wrong command line or run file, occupied directory, missing input;
3 the solution blew up; 70 stalled; 75 stopped early with a checkpoint written, to be queued again;
anything else is a failure"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise ConfigError(f"{message}; see slabwave --help")


def commands() -> dict[str, str]:
    """Names of the commands and their descriptions; imports none of them."""
    folders = map(Path, importlib.import_module(PACKAGE).__path__)
    files = sorted(path for folder in folders for path in folder.glob("*.py") if not path.stem.startswith("_"))
    return {path.stem: _first_line(path) for path in files}


def _first_line(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.splitlines()[0].rstrip(".")


def command(name: str) -> ModuleType:
    """The module of a command: `add_arguments(parser)`, `run(options)`, and `OVERRIDES` if it takes overrides.

    `STOPS_EARLY` says that SIGTERM and SIGUSR1 stop it early with a checkpoint, also where they come before it listens.
    """
    return importlib.import_module(f"{PACKAGE}.{name}")


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The command and its options; imports only this command.

    Raises:
        ConfigError: a command or option is unknown, or an argument is missing.
    """
    known = commands()
    words = [a for a in arguments if not a.startswith("-")]
    if words and words[0] not in known:
        raise ConfigError(f"{words[0]!r}: unknown command{nearest(words[0], known)}")
    chosen = words[0] if words else None
    takes_overrides = chosen is not None and getattr(command(chosen), "OVERRIDES", False)
    # overrides may stand anywhere, also before and after an option, which argparse cannot parse
    overrides = [word for word in arguments if is_override(word)]
    try:
        options = _parser(known, chosen).parse_args([word for word in arguments if not is_override(word)])
    except ConfigError:
        _refuse_misspelt(arguments)
        raise
    _refuse_twice(overrides)
    if overrides and not takes_overrides:
        raise ConfigError(f"{overrides[0]!r}: {options.command} takes no overrides")
    options.overrides = overrides
    return options


def help_of(name: str) -> str:
    """The text that `slabwave NAME --help` prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        _parser(commands(), name).parse_args([name, "--help"])
    return printed.getvalue()


def is_override(word: str) -> bool:
    """True if a word sets a key of the run file; names of files may contain an = too."""
    match = OVERRIDE.match(word)
    return match is not None and (bool(match["rest"]) or match["first"] in SECTIONS) and not Path(word).exists()


def key_of(override: str) -> str:
    """The key that an override sets."""
    match = OVERRIDE.match(override)
    return "" if match is None else f"{match['first']}{match['rest']}".replace('"', "")


def _refuse_misspelt(arguments: list[str]) -> None:
    """Raises ConfigError if a word sets a key that is close to the name of a section."""
    for match in filter(None, map(OVERRIDE.match, arguments)):
        close = nearest(match["first"], SECTIONS)
        if "did you" in close and not is_override(match.string) and not Path(match.string).exists():
            raise ConfigError(f"{match.string!r}: unknown key{close}")


def _refuse_twice(overrides: list[str]) -> None:
    """Raises ConfigError if a key has two values, one of which would be ignored."""
    given: dict[str, str] = {}
    for override in overrides:
        before = given.setdefault(key_of(override), override)
        if before != override:
            raise ConfigError(f"{before!r} and {override!r}: one key with two values; one of them is needed")


def _versions() -> str:
    """Versions of the package and of the packages that affect its numbers; imports none of them."""
    versions = []
    for name in ("slabwave", "jax", "jaxlib", "numpy"):
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            versions.append(f"{name} not installed")
    return f"{', '.join(versions)}, Python {platform.python_version()}"


def _parser(known: dict[str, str], chosen: str | None) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="slabwave",
        description="Distributed Fourier spectral solver for partial differential equations.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.add_argument("--version", action="version", version=_versions(), help="print versions, and leave")
    below = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in known.items():
        subparser = below.add_parser(name, help=text, description=text, allow_abbrev=False)
        subparser.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        if name == chosen:
            command(name).add_arguments(subparser)
            if getattr(command(name), "OVERRIDES", False):
                subparser.epilog = "section.key=value, any number of them, override keys of the run file"
    return parser


def add_address(parser: argparse.ArgumentParser) -> None:
    """Options of commands that join a job by explicit address."""
    group = parser.add_argument_group("several processes without a known launcher")
    group.add_argument("--coordinator", metavar="HOST:PORT", help="address where process 0 listens")
    group.add_argument("--processes", type=int, metavar="N", help="number of processes")
    group.add_argument("--process", type=int, metavar="I", help="index of this process, from 0")
    parser.add_argument(
        "--join-limit", type=float, default=300.0, metavar="SECONDS", help="wait so long for the other processes (300)"
    )
