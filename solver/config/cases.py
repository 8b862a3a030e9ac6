"""The run files that come with the package."""

from __future__ import annotations

from pathlib import Path

import solver


def cases() -> dict[str, Path]:
    """Run files by name, from the installed package or from `runs/` of a checkout."""
    package = Path(solver.__file__).parent
    folder = next(f for f in (package / "cases", package.parent / "runs") if f.is_dir())
    return {path.stem.replace("_", "-"): path for path in sorted(folder.glob("*.toml"))}
