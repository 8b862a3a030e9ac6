"""Print the JSON schema of run files, from which editors complete and check."""

from __future__ import annotations

import argparse
import json
import sys

from solver.assemble.registry import Registry
from solver.config import ConfigError, json_schema


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no arguments: the command takes none."""


def run(options: argparse.Namespace) -> int:
    """Print the schema.

    Raises:
        ConfigError: Python runs without docstrings, which hold the descriptions.
    """
    if sys.flags.optimize > 1:
        raise ConfigError(
            "schema: Python drops the descriptions with -OO or PYTHONOPTIMIZE=2; start it without them for this command"
        )
    print(json.dumps(json_schema(Registry()), indent=2, ensure_ascii=False))
    return 0
