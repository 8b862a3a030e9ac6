"""Print the JSON schema of run files, from which editors complete and check."""

from __future__ import annotations

import argparse
import json

from solver.assemble.registry import Registry
from solver.config import json_schema


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments."""


def run(options: argparse.Namespace) -> int:
    """Print the schema."""
    print(json.dumps(json_schema(Registry()), indent=2, ensure_ascii=False))
    return 0
